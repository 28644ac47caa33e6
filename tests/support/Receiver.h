#pragma once

#include <timingwheel/TimedScheduler.h>

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

/// Receivers for tests.
namespace timingwheel::test {

/// What became of an operation.
struct Completion {
    std::atomic<int> values{0};
    std::atomic<int> errors{0};
    std::atomic<int> stops{0};
    std::exception_ptr error;
    std::thread::id thread;
    /// Called when it completes, before it is counted.
    std::function<void()> then;

    int count() const { return values + errors + stops; }
    void add(std::atomic<int>& to) {
        thread = std::this_thread::get_id();
        if (then) std::exchange(then, {})();
        ++to;
    }
};

/// Converts to what `make` returns: places an operation, which cannot be moved, in a container.
template <class Make>
struct Elided {
    Make make;
    operator std::invoke_result_t<Make>() { return make(); }
};
template <class Make>
Elided(Make) -> Elided<Make>;  // clang 14 needs it

/// Counts completions. Nothing stops it.
struct Receiver {
    using receiver_concept = senders::receiver_tag;

    Completion* completion;

    void set_value() noexcept { completion->add(completion->values); }
    void set_stopped() noexcept { completion->add(completion->stops); }
    void set_error(std::exception_ptr error) noexcept {
        completion->error = std::move(error);
        completion->add(completion->errors);
    }
};

/// The same with a stop token.
template <class Token>
struct StoppableReceiver : Receiver {
    struct Env {
        Token token;
        Token query(senders::get_stop_token_t) const noexcept { return token; }
    };

    StoppableReceiver(Completion& of, Token its) noexcept : Receiver{&of}, token{std::move(its)} {}
    Env get_env() const noexcept { return {token}; }

    Token token;
};

/// A stop source with one callback, whose token is of the kind of std::inplace_stop_token: it names
/// the type of its callbacks.
class OwnStopSource {
public:
    template <class Callback>
    class Registration;

    struct Token {
        OwnStopSource* source;

        template <class Callback>
        using callback_type = Registration<Callback>;

        bool stop_requested() const noexcept { return source->isStopped_; }
        bool stop_possible() const noexcept { return true; }
        friend bool operator==(Token, Token) noexcept = default;
    };

    template <class Callback>
    class Registration {
    public:
        Registration(Token token, Callback callback) noexcept
            : source_{*token.source}, callback_{std::move(callback)} {
            std::lock_guard const lock{source_.mutex_};
            if (source_.isStopped_)
                callback_();
            else
                source_.callback_ = [this] { callback_(); };
        }
        Registration(Registration const&) = delete;
        Registration& operator=(Registration const&) = delete;
        ~Registration() {
            std::lock_guard const lock{source_.mutex_};
            source_.callback_ = nullptr;
        }

    private:
        OwnStopSource& source_;
        Callback callback_;
    };

    Token token() noexcept { return {this}; }
    bool hasCallback() const {
        std::lock_guard const lock{mutex_};
        return callback_ != nullptr;
    }
    void requestStop() {
        std::lock_guard const lock{mutex_};
        isStopped_ = true;
        if (auto const callback = std::exchange(callback_, nullptr)) callback();
    }

private:
    mutable std::recursive_mutex mutex_;  // a callback may end its registration
    std::atomic<bool> isStopped_{false};
    std::function<void()> callback_;
};

}  // namespace timingwheel::test
