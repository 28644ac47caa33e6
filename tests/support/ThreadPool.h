#pragma once

// gcc's thread sanitizer does not know fences and warns of them; Asio's queues have locks as well.
#if defined(__SANITIZE_THREAD__) && !defined(BOOST_ASIO_DISABLE_FENCED_BLOCK)
#    define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <boost/asio/thread_pool.hpp>
