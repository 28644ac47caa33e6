#include "LoneBook.h"
#include "core/driver/book/ShardBook.h"
#include "core/driver/context/StripedCounter.h"
#include "core/timeout/PushBack.h"

#include <support/Effort.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// A ShardBook and a plain vector are put through random steps. TIMINGWHEEL_SEED=<seed> runs a
// failure again, TIMINGWHEEL_STRESS_SCALE=<n> makes it n times as many.

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

/// A book and what it must hold, kept in step.
class BookSimulation {
public:
    BookSimulation(std::uint64_t seed, std::size_t count)
        : random_{seed}, lone_{std::vector<std::int64_t>{3, 8, 20}[draw(3)]} {
        for (std::size_t i = 0; i < count; ++i) {
            Item item{draw(4) == 0 ? lone_.hook(kHookThatIsTold) : someEntry()};
            items_.push_back(item);
        }
        book_.open();
    }

    /// Throws std::logic_error when book and model differ.
    void run(std::size_t steps) {
        for (; step < steps; ++step) {
            act(draw(24));
            check();
        }
        draw(2) == 0 ? drain() : stop();
        check();
    }

    std::size_t step = 0;

private:
    static constexpr std::int64_t kNever = Tick::kMax;

    enum class Place {
        out,
        bucket,
        gathered,
        gatheredReady,
        arrivals,
        due,
        queued,
        running,
        ended,    // cancelled by a cancelAll(), which has not said so yet
        givenUp,  // and not told yet
    };
    struct Item {
        explicit Item(TimeoutEntry& of) : entry{&of} {}

        TimeoutEntry* entry;
        Place place = Place::out;
        std::int64_t deadline = 0;
        std::int64_t scheduled = 0;
        std::size_t order = 0;  // in the queue
        bool isCancelled = false;
        RunningTask task{nullptr};

        TimeoutNode* periodic() const { return periodicNode(*entry); }
        bool isPending() const { return place >= Place::bucket && place <= Place::queued; }
        bool isGathered() const {
            return place == Place::gathered || place == Place::gatheredReady;
        }
    };

    static void require(bool holds, char const* what) {
        if (!holds) throw std::logic_error{what};
    }
    std::size_t draw(std::size_t count) { return random_() % count; }
    TimeoutEntry& someEntry() {
        switch (draw(4)) {
            case 0:
                return lone_.hook();
            case 1:
                return lone_.node();
            case 2:
                return lone_.periodic(Periodicity::Rule::fixedRate);
            default:
                return lone_.periodic(Periodicity::Rule::timesOfTask);
        }
    }
    std::int64_t clock() const { return book_.currentTick().value(); }
    /// Near or far, or not ahead of the clock at all.
    std::int64_t someTick() {
        static constexpr std::size_t kSpans[] = {3, 7, 30, 30, 700};
        return clock() - 2 + static_cast<std::int64_t>(draw(kSpans[draw(5)]));
    }
    /// Any item for which `fits`; null if there is none.
    template <class Fits>
    Item* some(Fits&& fits) {
        std::size_t const from = draw(items_.size());
        for (std::size_t i = 0; i < items_.size(); ++i)
            if (Item& item = items_[(from + i) % items_.size()]; fits(item)) return &item;
        return nullptr;
    }
    Item* somePending() {
        return some([](Item const& item) { return item.isPending(); });
    }
    template <class Fits>
    std::size_t count(Fits&& fits) const {
        return static_cast<std::size_t>(std::count_if(items_.begin(), items_.end(), fits));
    }
    std::size_t countIn(Place place) const {
        return count([&](Item const& item) { return item.place == place; });
    }
    std::int64_t earliestIn(Place place) const {
        std::int64_t earliest = kNever;
        for (Item const& item : items_)
            if (item.place == place) earliest = std::min(earliest, item.deadline);
        return earliest;
    }

    // ---- steps --------------------------------------------------------------------------------

    void act(std::size_t kind) {
        if (kind < 5) return acceptSome();
        if (kind < 7) return cancel();
        if (kind < 10) return pushBack();
        if (kind < 12) return move();
        if (kind < 14) return endRun();
        if (kind < 15) return catchUp();
        if (kind < 16) return cancelAll();
        if (kind < 17) return useClaim();
        if (kind == 17 && draw(4) == 0) return turnBack();
        if (kind == 18 && draw(4) == 0) return expectPushBacks();
        if (!isInTurn_) turn();
    }

    /// One, or a crowd for the same tick.
    void acceptSome() {
        std::int64_t const deadline = someTick();
        std::size_t const count = draw(3) == 0 ? draw(items_.size() / 2) : 1;
        for (std::size_t i = 0; i < count; ++i) accept(deadline);
    }

    void accept(std::int64_t deadline) {
        Item* const item = some([](Item const& it) { return it.place == Place::out; });
        if (item == nullptr) return;
        if (draw(4) != 0) reserve(deadline);
        if (item->periodic() != nullptr)
            item->periodic()->periodicity().scheduled = Tick{item->scheduled = deadline};
        ++expected_.scheduled;
        Tick const before = book_.nextWake();
        place(*item, deadline, book_.accept(*item->entry, Tick{deadline}));
        requireWake(before);
    }

    void reserve(std::int64_t deadline) {
        bool const grows = deadline >= book_.reach().value();
        require(book_.reserve(Tick{deadline}) == grows, "the reach grows, or does it not?");
        if (grows) publishReach();
    }
    void publishReach() {
        if (book_.expectsPushBacks()) pushBack_.publish(book_.reach());
        reach_ = book_.expectsPushBacks() ? book_.reach().value() : INT64_MIN;
    }
    void expectPushBacks() {
        book_.expectPushBacks();
        publishReach();
    }

    /// What was placed at `deadline` is due, or in a bucket.
    void place(Item& item, std::int64_t deadline, Tick wake) {
        item.deadline = std::max(deadline, clock());
        item.place = deadline <= clock() ? Place::arrivals : Place::bucket;
        if (item.scheduled == deadline) item.scheduled = item.deadline;
        lastWake_ = wake;
        published_ = std::min(published_, wake);
        if (item.place == Place::arrivals)
            require(wake.value() == clock(), "what is due on arrival does not wake");
        else
            require(wake == Tick::max() || wake.value() <= deadline, "it wakes too late");
    }
    /// Placing says exactly whether the driver is wanted earlier.
    void requireWake(Tick before) {
        require(book_.nextWake() == std::min(before, lastWake_), "another next wake than it said");
    }

    void cancel() {
        Item* const item = some([](Item const& it) {
            return it.isPending() ||
                   (it.place == Place::running && it.periodic() != nullptr && !it.isCancelled);
        });
        if (item == nullptr) return;
        TimeoutWord const word = TimeoutWord::of(*item->entry);
        ++expected_.cancelled;
        if (item->place == Place::running) {
            item->isCancelled = true;
            return book_.cancelRunning(*item->entry, word);
        }
        book_.cancel(*item->entry, word);
        item->place = Place::out;
    }

    void move() {
        Item* const item = somePending();
        if (item == nullptr) return;
        TimeoutWord const word = TimeoutWord::of(*item->entry);
        if (book_.isCancellingAll()) {
            book_.cancelForAll(*item->entry, word);
            return cancelled(*item);
        }
        std::int64_t const deadline = someTick();
        ++expected_.rescheduled;
        place(*item, deadline, book_.move(*item->entry, word, Tick{deadline}));
    }

    void pushBack() {
        Item* const item = somePending();
        if (item == nullptr) return;
        std::int64_t const deadline = item->deadline - 1 + static_cast<std::int64_t>(draw(60));
        bool const moves = (item->place == Place::bucket || item->place == Place::gathered) &&
                           deadline >= item->deadline && deadline < reach_;
        detail::StripedCounter moved{1};
        require(pushBack_.move(*item->entry, Tick{deadline}, moved) == moves &&
                    moved.sum() == (moves ? 1 : 0),
                "pushed back, or not?");
        if (moves) item->deadline = deadline;
    }

    void catchUp() {
        if (book_.isTurningBack()) return;
        std::int64_t const before = clock();
        std::int64_t const now = someTick();
        book_.catchUp(Tick{now});
        require(clock() >= before, "the clock went back");
        require(clock() <= std::max(before, now), "the clock went too far");
    }

    // ---- the driver's turn --------------------------------------------------------------------

    void turn() {
        if (draw(3) != 0) admitArrivals();
        std::int64_t const limit = draw(3) == 0 ? book_.nextWake().value() : someTick();
        if (limit != kNever) serve(limit, draw(8) == 0 ? draw(4) : 1'000);
    }

    void admitArrivals() {
        book_.admitArrivals();
        for (Item& item : items_)
            if (item.place == Place::arrivals) item.place = Place::due;
    }

    void serve(std::int64_t limit, std::size_t atMost) {
        ShardBook::Turn turn = book_.begin(Tick{limit});
        bool const isBehind = limit < clock();
        std::int64_t const begun = wasStopped_ && !isBehind ? clock() : kNever;
        require(turn.isBehind == isBehind, "behind, or is it not?");
        if (book_.isTurningBack()) placeGathered(turn);
        isInTurn_ = true;
        std::size_t const turnsBack = turnsBack_;
        std::size_t started = 0;
        for (; !book_.isTurningBack() && turnsBack_ == turnsBack; ++started) {
            TimeoutEntry* const entry = started == atMost ? nullptr : book_.next(turn);
            require(turn.moved <= ShardBook::kPerHold && turn.moved >= started, "counts wrongly");
            if (entry == nullptr) {
                bool const isOver = started < atMost && turn.moved < ShardBook::kPerHold;
                require(
                    !isOver || std::min(earliestIn(Place::bucket), earliestIn(Place::due)) > limit,
                    "what is due was left");
                wasStopped_ = !isOver || (isBehind && wasStopped_);
                break;
            }
            Item& item = itemOf(*entry);
            checkOrder(item, limit, begun);
            require(turn.limit.value() == item.deadline, "a turn is of one tick");
            limit = item.deadline;
            draw(3) == 0 ? dispatch(item) : beginRun(item);
            check();
            if (draw(4) == 0) act(draw(19));  // while the task runs
            check();
        }
        isInTurn_ = false;
        published_ = book_.nextWake();
        publishReach();
    }

    /// The earliest deadline first; of one tick those in buckets. What has begun of a tick is
    /// finished, unless the limit lies before.
    void checkOrder(Item const& item, std::int64_t limit, std::int64_t begun) const {
        std::int64_t const bucket = earliestIn(Place::bucket);
        std::int64_t const due = earliestIn(Place::due);
        require(item.deadline <= limit, "it is early");
        require(stateOf(*item.entry) == TimeoutState::ready, "due, and not ready");
        require(!item.entry->isQueued(), "due, and still in a list");
        if (item.place == Place::due) {
            require(item.deadline == due && due < bucket, "an arrival overtakes");
        } else {
            require(item.place == Place::bucket, "due, but in no bucket");
            require(item.deadline == clock(), "the wheel is not at the deadline");
            require(item.deadline == bucket, "it overtakes an earlier one");
            require(bucket <= due || bucket == begun, "it overtakes what is due");
        }
    }

    void dispatch(Item& item) {
        lone_.dispatch(*item.entry);
        item.place = Place::queued;
        item.order = ++orders_;
        ++claims_;
    }

    void useClaim() {
        if (claims_ == 0) return;
        --claims_;
        Item* oldest = nullptr;
        for (Item& item : items_)
            if (item.place == Place::queued && (oldest == nullptr || item.order < oldest->order))
                oldest = &item;
        TimeoutEntry* const entry = lone_.tasks.queue.useClaim();
        require(entry == (oldest == nullptr ? nullptr : oldest->entry), "not the oldest");
        if (oldest != nullptr) beginRun(*oldest);
    }

    void beginRun(Item& item) {
        --lone_.tasks.pending;
        bool const isHook = item.entry->isHook();
        TimeoutWord{Tick{item.deadline}, isHook ? TimeoutState::expired : TimeoutState::running}
            .storeIn(*item.entry);
        item.place = Place::running;
        item.isCancelled = false;
        item.task.entry = item.entry;
        lone_.tasks.running.add(item.task);
    }

    void endRun() {
        Item* const item = some([](Item const& it) { return it.place == Place::running; });
        if (item == nullptr) return;
        lone_.tasks.running.remove(item->task);
        item->place = Place::out;
        TimeoutNode* const node = item->periodic();
        if (node == nullptr) return;
        bool const hasNext = draw(8) != 0;
        ShardBook::Fate const fate = book_.fateOf(*node, hasNext);
        bool const goesOn = hasNext && !item->isCancelled;
        require(fate == (goesOn ? ShardBook::Fate::again : ShardBook::Fate::ended), "its fate");
        if (!goesOn) {
            expected_.fired += item->isCancelled ? 0 : 1;
            return;
        }
        item->scheduled = someTick();
        Tick const before = book_.nextWake();
        place(*item, item->scheduled, book_.again(*node, {{}, Tick{item->scheduled}, {}}));
        requireWake(before);
    }

    // ---- what takes everything ----------------------------------------------------------------

    void gather() {
        for (Item& item : items_) {
            if (item.place == Place::bucket) item.place = Place::gathered;
            if (item.place == Place::arrivals || item.place == Place::due)
                item.place = Place::gatheredReady;
        }
        wasStopped_ = false;
    }

    void turnBack() {
        if (clock() == 0) return;
        std::int64_t const tick =
            static_cast<std::int64_t>(draw(static_cast<std::size_t>(clock())));
        bool const isCorrection = draw(2) == 0;
        isCorrection_ = isCorrection || (isCorrection_ && isTurningBack_);
        isTurningBack_ = calls_.empty();
        require(book_.turnBack(Tick{tick}, isCorrection) == Tick{tick}, "it wakes too late");
        published_ = std::min(published_, Tick{tick});
        require(clock() == tick, "the wheel did not turn back");
        gather();
        ++turnsBack_;
        isPlacedInPart_ = false;
        publishReach();
    }

    void placeGathered(ShardBook::Turn& turn) {
        std::size_t const left = count([](Item const& item) { return item.isGathered(); });
        book_.placeGathered(turn);
        bool const isExact = !isPlacedInPart_;
        if (isExact) require(turn.moved == std::min(left, ShardBook::kPerHold), "places others");
        isTurningBack_ = isExact ? left >= ShardBook::kPerHold : book_.isTurningBack();
        // Of those that stay pending one cannot see which have been placed.
        isPlacedInPart_ = isTurningBack_;
        for (Item& item : items_) {
            if (!item.isGathered()) continue;
            bool const isDue = stateOf(*item.entry) == TimeoutState::ready;
            TimeoutNode* const node = item.periodic();
            if (item.place == Place::gathered && isExact && !isTurningBack_)
                require(isDue == (isCorrection_ && node != nullptr &&
                                  node->periodicity().rule == Periodicity::Rule::timesOfTask &&
                                  item.scheduled == item.deadline),
                        "computes its time anew, or not?");
            if (!isDue) {
                if (!isTurningBack_) item.place = Place::bucket;
                continue;
            }
            if (item.place == Place::gathered)
                require(node != nullptr && node->periodicity().isCorrected, "due too early");
            if (isTurningBack_ && Tick{item.deadline} == item.entry->deadline()) continue;
            if (item.scheduled == item.deadline) item.scheduled = clock();
            item.deadline = clock();
            item.place = Place::due;
        }
        if (!isTurningBack_) isCorrection_ = false;
    }

    /// Begins a cancelAll(), or goes on with one.
    void cancelAll() {
        if (calls_.empty() || draw(16) == 0) {
            if (draw(3) == 0) beginCancelAll();
            return;
        }
        std::size_t const call = draw(calls_.size());
        std::size_t& queued = calls_[call];
        for (std::size_t atMost = 1 + draw(20); atMost > 0; --atMost) {
            bool const takesGathered = some([](Item const& item) { return item.isGathered(); });
            std::size_t const mayTake =
                takesGathered ? queued : std::min(queued, countIn(Place::queued));
            if (!book_.cancelNext(queued)) {
                require(!takesGathered && mayTake == 0, "it ends too early");
                takeCancelled();
                book_.endCancelAll();
                calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(call));
                return;
            }
            cancelledNext(takesGathered);
            require(queued == mayTake - (takesGathered ? 0 : 1), "counts the queued ones wrongly");
        }
        if (draw(2) == 0) takeCancelled();
    }

    void beginCancelAll() {
        calls_.push_back(book_.beginCancelAll());
        require(calls_.back() == countIn(Place::queued), "counts the queued ones wrongly");
        isTurningBack_ = isPlacedInPart_ = false;
        gather();
        for (Item& item : items_) {
            if (item.place != Place::running || item.periodic() == nullptr || item.isCancelled)
                continue;
            item.isCancelled = true;
            ++expected_.cancelled;
            ++cancelledByCall_;
        }
    }

    /// Finds what the book has cancelled.
    void cancelledNext(bool takesGathered) {
        Item* found = nullptr;
        for (Item& item : items_) {
            if (!item.isPending() || !isCancelled(stateOf(*item.entry))) continue;
            require(found == nullptr, "two are cancelled at once");
            found = &item;
        }
        require(found != nullptr, "nothing is cancelled");
        require(found->isGathered() == takesGathered, "another one is cancelled");
        if (!takesGathered)
            require(count([&](Item const& item) {
                        return item.place == Place::queued && item.order < found->order;
                    }) == 0,
                    "not the oldest is cancelled");
        cancelled(*found);
    }
    void cancelled(Item& item) {
        ++expected_.cancelled;
        ++cancelledByCall_;
        item.place = Place::ended;
        if (!item.entry->isHook()) return;
        bool const isTold = static_cast<HookEntry const*>(item.entry)->callsGivenUp();
        item.place = isTold ? Place::givenUp : Place::out;
    }

    void takeCancelled() {
        TimerTaskList ended;
        require(book_.takeCancelled(ended) == cancelledByCall_, "another number is cancelled");
        cancelledByCall_ = 0;
        while (!ended.empty())
            take(itemOf(static_cast<TimeoutEntry&>(ended.takeFirst())), Place::ended);
        require(countIn(Place::ended) == 0, "a node is not ended");
        while (HookEntry* const hook = book_.takeGivenUp()) take(itemOf(*hook), Place::givenUp);
        require(countIn(Place::givenUp) == 0, "a hook is not told");
    }
    void take(Item& item, Place from) {
        require(item.place == from, "it was not there");
        item.place = Place::out;
    }

    void drain() {
        while (!calls_.empty()) cancelAll();
        for (int turns = 0; lone_.tasks.pending > 0; ++turns) {
            require(turns < 20'000, "it never ends");
            admitArrivals();
            if (book_.nextWake() != Tick::max()) serve(book_.nextWake().value(), 1'000);
            while (claims_ > 0) useClaim();
            for (Item& item : items_) {
                if (item.place != Place::running) continue;
                lone_.tasks.running.remove(item.task);
                item.place = Place::out;
            }
            while (!calls_.empty()) cancelAll();
            check();
        }
    }

    void stop() {
        book_.close();
        for (std::size_t left = lone_.tasks.pending; left > 0; --left) {
            TimeoutEntry* const entry = book_.takePending();
            require(entry != nullptr, "something pending is not taken");
            require(itemOf(*entry).isPending() && !entry->isQueued(),
                    "what is taken was not pending");
            TimeoutWord{Tick{0}, TimeoutState::returned}.storeIn(*entry);
            itemOf(*entry).place = Place::out;
        }
        require(book_.takePending() == nullptr, "more than was pending is taken");
        isTurningBack_ = isPlacedInPart_ = false;
    }

    // ---- comparing ----------------------------------------------------------------------------

    Item& itemOf(TimeoutEntry const& entry) {
        return *std::find_if(items_.begin(), items_.end(),
                             [&](Item const& item) { return item.entry == &entry; });
    }

    void check() {
        require(book_.isTurningBack() == isTurningBack_, "turning back, or is it not?");
        require(book_.isCancellingAll() == !calls_.empty(), "cancelling, or is it not?");
        Tick const wake = book_.nextWake();
        std::int64_t const bucket = earliestIn(Place::bucket);
        if (isTurningBack_) {
            require(wake.value() == clock(), "the wheel stands still, and nobody comes");
        } else {
            require(clock() <= bucket, "the wheel has passed a deadline");
            require(wake.value() <=
                        std::min({bucket, earliestIn(Place::due), earliestIn(Place::arrivals)}),
                    "the next wake is late");
        }
        require(isInTurn_ || published_ <= wake, "nobody has said that the driver must come");
        book_.checkInvariants(isInTurn_ ? wake : published_);
        for (Item const& item : items_) check(item);

        TaskBook const& tasks = lone_.tasks;
        require(tasks.pending == count([](Item const& item) { return item.isPending(); }),
                "pending");
        require(tasks.queue.size() == countIn(Place::queued), "the queue's size");
        require(tasks.queue.claims() == claims_, "claims");
        TimeoutCounters const& counters = tasks.counters;
        require(counters.scheduled == expected_.scheduled &&
                    counters.rescheduled == expected_.rescheduled &&
                    counters.cancelled == expected_.cancelled && counters.fired == expected_.fired,
                "a counter");
    }

    void check(Item const& item) const {
        bool const isListed =
            item.isPending() || item.place == Place::ended || item.place == Place::givenUp;
        require(item.entry->isQueued() == isListed, "in a list, or is it not?");
        if (item.place == Place::ended)
            require(stateOf(*item.entry) == TimeoutState::cancelling, "another state");
        if (!item.isPending()) return require(!isPending(stateOf(*item.entry)), "pending");
        require(item.entry->deadline().value() == item.deadline, "another deadline");
        TimeoutState const state = item.place == Place::queued ? TimeoutState::queued
                                   : item.place == Place::bucket || item.place == Place::gathered
                                       ? TimeoutState::pending
                                       : TimeoutState::ready;
        require(stateOf(*item.entry) == state, "another state");
        if (TimeoutNode* const node = item.periodic())
            require(node->periodicity().scheduled.value() == item.scheduled, "scheduled for");
    }

    std::mt19937_64 random_;
    std::vector<Item> items_;
    LoneBook lone_;
    ShardBook& book_ = lone_.book;
    PushBack pushBack_;
    std::int64_t reach_ = INT64_MIN;  // what is published
    Tick published_ = Tick::max();    // the next wake that the driver sees
    Tick lastWake_;
    std::vector<std::size_t> calls_;  // of cancelAll(): how many queued ones each has left
    std::size_t cancelledByCall_ = 0;
    std::size_t claims_ = 0;
    std::size_t orders_ = 0;
    std::size_t turnsBack_ = 0;
    TimeoutCounters expected_;
    bool isInTurn_ = false;
    bool wasStopped_ = false;  // a turn, in the middle of a tick
    bool isTurningBack_ = false;
    bool isCorrection_ = false;
    bool isPlacedInPart_ = false;
};

void simulate(std::uint64_t seed, std::size_t count, std::size_t steps) {
    BookSimulation simulation{seed, count};
    try {
        simulation.run(steps);
    } catch (std::logic_error const& error) {
        FAIL() << error.what() << "\nin step " << simulation.step << " of TIMINGWHEEL_SEED=" << seed
               << ", " << count << " entries";
    }
}

TEST(ShardBookModel, AgreesWithAVectorAfterEveryStep) {
    char const* const given = std::getenv("TIMINGWHEEL_SEED");
    std::uint64_t const first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
    std::uint64_t const rounds = given == nullptr ? scaled(200) : 1;
    for (std::uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
        simulate(seed, 5 + seed % 30, 300);
        if (seed % 30 == 1) simulate(seed, 3 * ShardBook::kPerHold, 600);  // more than a chunk
    }
}

}  // namespace
}  // namespace timingwheel::detail
