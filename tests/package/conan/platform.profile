# The system's Boost and GoogleTest, declared to be there: Conan neither builds nor describes them.
include(default)

[platform_requires]
boost/{{ os.environ["BOOST_VERSION"] }}
gtest/{{ os.environ["GTEST_VERSION"] }}
