#pragma once

#include "Simulation.h"

#include <timingwheel/Clock.h>
#include <timingwheel/HashedWheelTimer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace timingwheel::test::simulation {

/// What a run knows of its timeouts, and what must not happen to them: early, late, twice, lost.
/// Kept aside.
class Books {
public:
    using TimePoint = Clock::TimePoint;

    /// A new timeout, which may not begin before `earliest`.
    std::size_t open(TimePoint earliest, bool periodic = false) {
        Aside const aside;
        accounts_.push_back({.notBefore = earliest, .isPeriodic = periodic});
        return accounts_.size() - 1;
    }
    /// It was accepted: it is due by then.
    void accepted(std::size_t id, TimePoint latest) {
        Aside const aside;
        Account& account = accounts_[id];
        account.isAccepted = true;
        if (account.moves == 0) account.dueBy = latest;
    }
    void refused(std::size_t id) {
        Aside const aside;
        accounts_[id].isRefused = true;
    }

    /// Its deadline is being moved. While several do that, the widest bounds hold.
    void moving(std::size_t id, TimePoint earliest) {
        Aside const aside;
        Account& account = accounts_[id];
        ++account.moves;
        account.moveMeets |= account.moves > 1;
        account.notBefore = std::min(account.notBefore, earliest);
        account.moved = earliest;
    }
    void moved(std::size_t id, bool isMoved, TimePoint latest) {
        Aside const aside;
        Account& account = accounts_[id];
        bool const isSure = !account.moveMeets && !account.isPeriodic;
        if (isMoved && isSure) account.notBefore = account.moved;
        if (isMoved) account.dueBy = isSure ? latest : std::max(account.dueBy, latest);
        if (--account.moves == 0) account.moveMeets = false;
    }

    void entered(std::size_t id, TimePoint now) {
        Aside const aside;
        Account& account = accounts_[id];
        require(account.runs == 0 || account.isPeriodic, told(id, "ran twice"));
        // Of a periodic one that had begun, but not come here.
        bool const mayHaveBegun = account.isPeriodic && !account.ranSinceWin;
        require(account.wins == 0 || mayHaveBegun, told(id, "ran although a cancel() won"));
        account.ranSinceWin = account.wins > 0;
        require(!account.isReturned, told(id, "ran although stop() returned it"));
        require(!account.isRefused, told(id, "ran although it was refused"));
        require(!account.isRunning, told(id, "runs concurrently with itself"));
        require(!isStopped_, told(id, "ran after stop()"));
        require(now >= account.notBefore, told(id, "ran early"));
        require(account.captures > 0, told(id, "ran without its captures"));
        ++account.runs;
        ++running_;
        account.isRunning = true;
    }
    void left(std::size_t id) {
        Aside const aside;
        accounts_[id].isRunning = false;
        --running_;
    }
    void cancelled(std::size_t id, bool isWon) {
        if (!isWon) return;
        TimePoint const now = Clock::steady().now();
        Aside const aside;
        Account& account = accounts_[id];
        account.wonAt = now;
        require(account.isPeriodic || account.runs == 0, told(id, "was cancelled after it ran"));
        require(++account.wins == 1, told(id, "was cancelled twice"));
    }
    /// A cancelAndWait() has returned, on a thread that does not run it. What stop() returns keeps
    /// its captures.
    void settled(std::size_t id, bool isReturned) {
        Aside const aside;
        require(!accounts_[id].isRunning, told(id, "runs after cancelAndWait()"));
        require(accounts_[id].captures == 0 || isReturned,
                told(id, "has captures after cancelAndWait()"));
    }
    void returned(std::size_t id) {
        Aside const aside;
        Account& account = accounts_[id];
        require(!account.isReturned, told(id, "was returned twice"));
        account.isReturned = true;
    }
    void rejected() {
        Aside const aside;
        ++rejections_;
    }
    /// What the timer must have counted by now.
    struct Totals {
        std::size_t accepted = 0;
        std::size_t cancelled = 0;
        std::size_t returned = 0;
        std::size_t rejected = 0;
    };
    Totals totals() const {
        Aside const aside;
        Totals totals{.rejected = rejections_};
        for (Account const& account : accounts_) {
            totals.accepted += account.isAccepted;
            totals.cancelled += static_cast<std::size_t>(account.wins);
            totals.returned += account.isReturned;
        }
        return totals;
    }
    void stopped() {
        Aside const aside;
        require(running_ == 0, "a task runs after stop()");
        isStopped_ = true;
    }

    void captureMade(std::size_t id) {
        Aside const aside;
        ++accounts_[id].captures;
    }
    void captureDied(std::size_t id) {
        Aside const aside;
        require(--accounts_[id].captures >= 0, told(id, "lost a capture twice"));
    }

    /// All threads sleep, and the next wakes up at `now`: nobody may have missed anything.
    void idle(TimePoint now, std::chrono::nanoseconds slack) const {
        if (running_ > 0) return;  // a task that sleeps may hold up others
        for (std::size_t id = 0; id < accounts_.size(); ++id) {
            Account const& account = accounts_[id];
            bool const keeps = account.wins > 0 && account.captures > 0;
            require(!keeps || account.wonAt + slack >= now,
                    told(id, "was cancelled, and keeps its captures"));
            bool const isPending = account.isAccepted && !account.isPeriodic && account.runs == 0 &&
                                   account.wins == 0 && !account.isReturned && account.moves == 0;
            if (!isPending || rejections_ > 0) continue;
            require(account.dueBy > TimePoint::max() - slack || account.dueBy + slack >= now,
                    told(id, "is slept over: it was due by ") +
                        std::to_string(account.dueBy.time_since_epoch().count()) +
                        ", and all sleep until " + std::to_string(now.time_since_epoch().count()));
        }
    }

    /// The timer is gone, and so are all handles.
    void close() const {
        Aside const aside;
        std::size_t without = 0;
        for (std::size_t id = 0; id < accounts_.size(); ++id) {
            Account const& account = accounts_[id];
            require(account.captures == 0, told(id, "left captures behind"));
            int const ends =
                (account.isPeriodic ? 0 : account.runs) + account.wins + account.isReturned;
            require(ends <= 1, told(id, "has two outcomes"));
            if (account.isAccepted && ends == 0 && !(account.isPeriodic && isDrained_)) ++without;
        }
        require(without == rejections_ || (isDropped_ && without > rejections_),
                std::to_string(without) + " timeouts have no outcome, " +
                    std::to_string(rejections_) + " were rejected");
    }
    /// Its destructor drops what is pending.
    void dropped() {
        Aside const aside;
        isDropped_ = true;
    }
    /// It was drained: periodic timeouts have ended with a run.
    void drained() {
        Aside const aside;
        isDrained_ = true;
    }

private:
    struct Account {
        TimePoint notBefore{};
        TimePoint dueBy = TimePoint::max();
        TimePoint moved{};
        TimePoint wonAt{};
        int moves = 0;
        bool moveMeets = false;
        bool isPeriodic = false;
        bool isAccepted = false;
        bool isRefused = false;
        bool isReturned = false;
        bool isRunning = false;
        bool ranSinceWin = false;
        int runs = 0;
        int wins = 0;
        int captures = 0;
    };

    static std::string told(std::size_t id, char const* what) {
        return "timeout " + std::to_string(id) + " " + what;
    }

    std::vector<Account> accounts_;
    std::size_t rejections_ = 0;
    int running_ = 0;
    bool isStopped_ = false;
    bool isDrained_ = false;
    bool isDropped_ = false;
};

/// What a task captures: counts itself.
class Capture {
public:
    Capture(Books& books, std::size_t id) : books_{&books}, id_{id} { books_->captureMade(id_); }
    Capture(Capture const& other) : Capture{*other.books_, other.id_} {}
    Capture& operator=(Capture const&) = delete;
    ~Capture() { books_->captureDied(id_); }

    Books& books() const noexcept { return *books_; }
    std::size_t id() const noexcept { return id_; }

private:
    Books* books_;
    std::size_t id_;
};

/// Has the library's statics made outside of all runs: what they allocate is no leak of one.
inline void warmUp() {
    static_cast<void>(HashedWheelTimer{HashedWheelTimerOptions{.leakDetection = false}});
}

/// A task that only tells the books of itself.
struct BookedTask {
    Capture capture;

    void operator()() const {
        Books& books = capture.books();
        std::size_t const id = capture.id();
        books.entered(id, Clock::steady().now());
        books.left(id);
    }
};

}  // namespace timingwheel::test::simulation
