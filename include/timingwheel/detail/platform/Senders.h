#pragma once

#include <timingwheel/detail/platform/StopToken.h>

#include <version>

// The names of senders: stdexec's with TIMINGWHEEL_STDEXEC, or else those of the standard library
// where it has them, or else the few below, which any receiver understands. A program may use
// several, each in files of its own.
#if defined(TIMINGWHEEL_STDEXEC)
#    include <stdexec/execution.hpp>
#    define TIMINGWHEEL_SENDERS of_stdexec
#elif defined(__cpp_lib_senders)
#    include <execution>
#    define TIMINGWHEEL_SENDERS of_std
#else
#    include <utility>
#    define TIMINGWHEEL_SENDERS of_timingwheel
#endif

namespace timingwheel::inline v1 {
namespace senders {
inline namespace TIMINGWHEEL_SENDERS {

#if defined(TIMINGWHEEL_STDEXEC) || defined(__cpp_lib_senders)

#    if defined(TIMINGWHEEL_STDEXEC)
namespace execution = ::stdexec;
namespace queries = ::stdexec;
using sender_tag = execution::sender_t;  // its older versions have no sender_tag
using receiver_tag = execution::receiver_t;
using operation_state_tag = execution::operation_state_t;
using scheduler_tag = execution::scheduler_t;
#    else
namespace execution = ::std::execution;
namespace queries = ::std;
using execution::operation_state_tag;
using execution::receiver_tag;
using execution::scheduler_tag;
using execution::sender_tag;
#    endif

using execution::completion_signatures;
using execution::get_completion_scheduler_t;
using execution::get_env;
using execution::set_error;
using execution::set_error_t;
using execution::set_stopped;
using execution::set_stopped_t;
using execution::set_value;
using execution::set_value_t;
using queries::get_stop_token;
using queries::get_stop_token_t;

#else

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};

template <class... Completions>
struct completion_signatures {};
template <class Completion>
struct get_completion_scheduler_t {};

struct set_value_t {
    template <class Receiver>
    void operator()(Receiver&& receiver) const noexcept {
        std::forward<Receiver>(receiver).set_value();
    }
};
struct set_error_t {
    template <class Receiver, class Error>
    void operator()(Receiver&& receiver, Error&& error) const noexcept {
        std::forward<Receiver>(receiver).set_error(std::forward<Error>(error));
    }
};
struct set_stopped_t {
    template <class Receiver>
    void operator()(Receiver&& receiver) const noexcept {
        std::forward<Receiver>(receiver).set_stopped();
    }
};

struct never_stop_token {
    template <class Callback>
    struct callback_type {
        callback_type(never_stop_token, Callback const&) noexcept {}
    };
    static constexpr bool stop_requested() noexcept { return false; }
    static constexpr bool stop_possible() noexcept { return false; }
    friend bool operator==(never_stop_token, never_stop_token) noexcept = default;
};
struct env {};

struct get_env_t {
    template <class Provider>
    auto operator()(Provider const& provider) const noexcept {
        if constexpr (requires { provider.get_env(); })
            return provider.get_env();
        else
            return env{};
    }
};
struct get_stop_token_t {
    template <class Env>
    auto operator()(Env const& of) const noexcept {
        if constexpr (requires { of.query(*this); })
            return of.query(*this);
        else
            return never_stop_token{};
    }
};

inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};
inline constexpr get_env_t get_env{};
inline constexpr get_stop_token_t get_stop_token{};

#endif

}  // namespace TIMINGWHEEL_SENDERS
}  // namespace senders

namespace detail {

/// The type of a stop token's callback.
template <class Token, class Callback>
struct StopCallback {
    using Type = typename Token::template callback_type<Callback>;
};
#ifdef TIMINGWHEEL_STOP_TOKEN
template <class Callback>
struct StopCallback<std::stop_token, Callback> {
    using Type = std::stop_callback<Callback>;
};
#endif

}  // namespace detail
}  // namespace timingwheel::inline v1
