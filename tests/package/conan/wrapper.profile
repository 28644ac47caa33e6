# The system's Boost, date, librdkafka and SQLite as Conan packages: a consumer gets
# Boost::headers from Conan, as with ConanCenter's own.
include(default)

[replace_requires]
boost/*: system-boost/{{ os.environ["BOOST_VERSION"] }}
date/*: system-date/3.0.1
librdkafka/*: system-librdkafka/{{ os.environ["RDKAFKA_VERSION"] }}
sqlite3/*: system-sqlite3/{{ os.environ["SQLITE_VERSION"] }}
