# The system's Boost, declared to be there: Conan neither builds nor describes it.
include(default)

[platform_requires]
boost/{{ os.environ["BOOST_VERSION"] }}
