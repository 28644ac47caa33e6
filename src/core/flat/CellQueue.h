#pragma once

#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/detail/EntryLinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::detail {

/// New entries on their way from callers to the worker, in the order of arrival.
///
/// A row of cells. A caller draws the next cell with one increment, and then puts its entry there.
/// A thread that cancels it may take it back from there, and the worker never sees it.
///
/// There are two rows: callers fill one while the worker empties the other. A caller may be held up
/// after drawing its cell. The worker passes over that cell, and comes back to it later. A row is
/// filled again only when all of its cells have been emptied.
///
/// Complexity     add and takeBack O(1), without a lock
/// Memory         8 bytes a cell; each row keeps as many as it once needed, and 64 at least. Only
///                `add` allocates
/// Thread safety  add, takeBack: any thread; the rest: the worker, or its stand-in. Under a
///                lock of theirs look() may come from any thread, too
class CellQueue {
public:
    using Cell = std::atomic<TimerTaskEntry*>;
    enum class Added { yes, closed, noMemory };

    /// Starts closed.
    CellQueue() noexcept = default;
    CellQueue(CellQueue const&) = delete;
    CellQueue& operator=(CellQueue const&) = delete;
    ~CellQueue() = default;

    // These two publish nothing: callers draw with a read-modify-write, which finds the latest, and
    // cells say themselves what is in them.
    void open() noexcept { next_.store(0, std::memory_order_relaxed); }
    /// Refuses all further entries. Once.
    void close() noexcept { closedAt_ = next_.exchange(kClosed, std::memory_order_relaxed); }

    /// Adds an entry behind all others.
    Added add(TimerTaskEntry& entry) noexcept {
        std::uint64_t const drawn = next_.fetch_add(1, std::memory_order_seq_cst);
        if ((drawn & kClosed) != 0) return Added::closed;
        Cell* const cell = cells_[rowOf(drawn)].make(indexOf(drawn));
        if (cell == nullptr) return cells_[rowOf(drawn)].giveUp();
        EntryLinks::setCell(entry, cell);
        cell->store(&entry, std::memory_order_release);
        return Added::yes;
    }

    /// Takes an entry out again. False if the worker has taken it. REQUIRES: it was added, and no
    /// other thread tries the same.
    static bool takeBack(TimerTaskEntry& entry) noexcept {
        Cell& cell = *EntryLinks::cell(entry);
        TimerTaskEntry* expected = &entry;
        // The worker may have had the entry and put it back: the caller may free it, so acquire.
        return cell.load(std::memory_order_relaxed) == expected &&
               cell.compare_exchange_strong(expected, &takenBack_, std::memory_order_acquire);
    }

    /// Calls visit(entry) for at most `atMost` entries, in the order of arrival. If it returns
    /// false, that entry stays for the next time, and so do those behind it. Returns how many were
    /// taken back since the last time.
    ///
    /// If a thread adds an entry and then does not see a value that the caller stored (seq_cst)
    /// before isEmpty(), that returns false.
    template <class Visit>
    std::size_t take(std::size_t atMost, Visit&& visit) noexcept {
        Pass<Visit> pass{atMost, visit};
        // Look before an unfilled cell is passed over: what comes behind it later may have come
        // after it was filled.
        lookAhead();
        if (pass.goThrough(cells_[1 - open_], rows_[1 - open_])) {
            if (!isTaken()) {
                // A caller is about to fill a cell there. The others keep their row meanwhile.
                pass.goThrough(cells_[open_], rows_[open_], Draws::goOn);
            } else if (swap()) {
                pass.goThrough(cells_[1 - open_], rows_[1 - open_]);
            }
        }
        return pass.takenBack;
    }

    /// The same for all that are left, after close(). Waits for callers that have drawn a cell.
    template <class Visit>
    std::size_t takeRest(Visit&& visit) noexcept {
        Pass<Visit> pass{SIZE_MAX, visit};
        if ((closedAt_ & kClosed) == 0) rows_[open_].end = indexOf(closedAt_);
        for (std::size_t const row : {1 - open_, open_}) {
            for (;; std::this_thread::yield()) {
                pass.goThrough(cells_[row], rows_[row]);
                if (rows_[row].isPassed()) break;
            }
        }
        return pass.takenBack;
    }

    /// Where a look at the cells stands.
    struct LookPlace {
        std::uint64_t firstSwap = kBeforeFirst;
        std::uint64_t swap = 0;
        unsigned row = 0;  ///< 0: the older, 1: the one that callers fill
        std::uint64_t index = 0;
    };
    /// Calls visit(entry) for entries that are in their cells, `left` at most, and counts them off.
    /// Returns true once it has seen all that were here at its first call and still are. An entry
    /// cannot be taken back while it is visited. REQUIRES: no take() at the same time.
    template <class Visit>
    bool look(LookPlace& place, std::size_t& left, Visit&& visit) noexcept {
        if (place.firstSwap == kBeforeFirst) place = {swaps_, swaps_};
        for (;; ++place.row, place.index = 0) {
            // Two swaps later all of them have left.
            if (place.row == 2 || swaps_ - place.firstSwap > 1) return true;
            if (place.swap != swaps_) place = {place.firstSwap, swaps_};
            std::size_t const row = place.row == 0 ? 1 - open_ : open_;
            place.index = std::max(place.index, rows_[row].from);
            for (std::uint64_t const end = endOf(row); place.index < end; ++place.index) {
                if (left == 0) return false;
                --left;
                Cell* const cell = cells_[row].find(place.index);
                if (cell != nullptr && cell != Cells::refused()) lookInto(*cell, visit);
            }
        }
    }

    /// False if something was left over by take().
    bool isTaken() const noexcept { return rows_[1 - open_].isPassed(); }
    /// True if nothing was added since the rows were last swapped.
    bool isEmpty() const noexcept {
        std::uint64_t const word = next_.load(std::memory_order_seq_cst);
        return (word & kClosed) != 0 || indexOf(word) == 0;
    }

private:
    static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
    static constexpr unsigned kRowShift = 62;
    static constexpr std::uint64_t kFirst = 64;  // cells of the smallest segment
    static constexpr std::uint64_t kBeforeFirst = UINT64_MAX;

    static std::size_t rowOf(std::uint64_t word) noexcept { return word >> kRowShift & 1; }
    static std::uint64_t indexOf(std::uint64_t word) noexcept {
        return word & ((std::uint64_t{1} << kRowShift) - 1);
    }

    /// The cells of a row, in segments, each as large as all before it. They do not move.
    class Cells {
    public:
        Cells() noexcept { segments_[0].store(first_.data(), std::memory_order_relaxed); }
        ~Cells();
        /// The cell, in a new segment if need be. Null if there was no memory for its segment.
        Cell* make(std::uint64_t index) noexcept {
            unsigned const number = numberOf(index);
            Cell* segment = segments_[number].load(std::memory_order_acquire);
            if (segment == nullptr) segment = makeSegment(number);
            return segment == &refused_ ? nullptr : segment + offset(index, number);
        }
        /// For a caller that got no cell, and has written nothing that the worker reads.
        Added giveUp() noexcept {
            givenUp_.fetch_add(1, std::memory_order_relaxed);
            return Added::noMemory;
        }

        // For the worker.

        /// The cell, `refused()` if there was no memory for its segment, or null if the caller that
        /// drew it has not filled it yet.
        Cell* find(std::uint64_t index) noexcept {
            unsigned const number = numberOf(index);
            Cell* const segment = latest(segments_[number]);
            if (segment == nullptr || segment == &refused_) return segment;
            return segment + offset(index, number);
        }
        static Cell const* refused() noexcept { return &refused_; }
        /// True once `count` callers, all that drew refused cells of this row, have given up.
        bool haveGivenUp(std::uint64_t count) noexcept {
            if (givenUp_.load(std::memory_order_relaxed) != count) return false;
            givenUp_.store(0, std::memory_order_relaxed);
            return true;
        }
        /// Makes the first `count` free. REQUIRES: no caller has any of them.
        void clear(std::uint64_t count) noexcept;

    private:
        static unsigned numberOf(std::uint64_t index) noexcept {
            return static_cast<unsigned>(std::bit_width(index / kFirst));
        }
        static std::uint64_t sizeOf(unsigned number) noexcept {
            return number == 0 ? kFirst : kFirst << (number - 1);
        }
        static std::uint64_t offset(std::uint64_t index, unsigned number) noexcept {
            return number == 0 ? index : index - sizeOf(number);
        }
        Cell* makeSegment(unsigned number) noexcept;

        static inline Cell refused_{nullptr};  // there was no memory for this segment
        std::array<std::atomic<Cell*>, 40> segments_{};
        std::atomic<std::uint64_t> givenUp_{0};
        alignas(kCacheLine) std::array<Cell, kFirst> first_{};
    };

    /// How far the worker has come in a row.
    struct Row {
        std::uint64_t from = 0;  // all before this were emptied
        std::uint64_t end = 0;   // as far as callers have drawn cells
        bool isPassed() const noexcept { return from == end; }
    };

    /// Whether callers still draw cells of a row.
    enum class Draws { areOver, goOn };

    /// The worker's way through the rows.
    template <class Visit>
    struct Pass {
        std::size_t left;
        Visit& visit;
        std::size_t takenBack = 0;

        /// Empties a row as far as callers have filled it. False if it had to stop.
        bool goThrough(Cells& cells, Row& row, Draws draws = Draws::areOver) noexcept {
            std::uint64_t firstLeft = row.end;
            std::uint64_t firstRefused = row.end;
            std::uint64_t refused = 0;
            for (std::uint64_t i = row.from; i < row.end; ++i) {
                Cell* const cell = cells.find(i);
                if (cell == Cells::refused()) {
                    firstRefused = std::min(firstRefused, i);
                    ++refused;
                    continue;
                }
                TimerTaskEntry* const entry = cell == nullptr ? nullptr : latest(*cell);
                if (entry == nullptr) {
                    firstLeft = std::min(firstLeft, i);
                } else if (!empty(*cell, entry)) {
                    row.from = std::min({firstLeft, firstRefused, i});
                    return false;
                }
            }
            bool const isLast = draws == Draws::areOver && firstLeft == row.end;
            bool const haveGivenUp = refused == 0 || (isLast && cells.haveGivenUp(refused));
            row.from = haveGivenUp ? firstLeft : std::min(firstLeft, firstRefused);
            return true;
        }

    private:
        bool empty(Cell& cell, TimerTaskEntry* entry) noexcept {
            if (entry == &taken_) return true;
            if (left == 0) return false;
            entry = cell.exchange(&taken_, std::memory_order_relaxed);  // latest() has acquired
            if (entry == &takenBack_) {
                ++takenBack;
            } else if (visit(*entry)) {
                --left;
            } else {
                cell.store(entry, std::memory_order_release);
                return false;
            }
            return true;
        }
    };

    /// Where a plain load may return an old null pointer, this returns the latest.
    template <class T>
    static T* latest(std::atomic<T*>& pointer) noexcept {
        T* seen = pointer.load(std::memory_order_acquire);
        if (seen == nullptr)
            pointer.compare_exchange_strong(seen, nullptr, std::memory_order_acquire);
        return seen;
    }

    /// As far as callers have drawn cells of a row.
    std::uint64_t endOf(std::size_t row) const noexcept {
        if (row != open_) return rows_[row].end;
        std::uint64_t const word = next_.load(std::memory_order_acquire);
        if ((word & kClosed) == 0) return indexOf(word);
        return (closedAt_ & kClosed) == 0 ? indexOf(closedAt_) : rows_[row].end;
    }
    /// Lends the entry: a thread that would take it back finds it gone: the worker unlinks it.
    template <class Visit>
    static void lookInto(Cell& cell, Visit& visit) noexcept {
        TimerTaskEntry* entry = cell.load(std::memory_order_acquire);
        if (entry == nullptr || entry == &taken_ || entry == &takenBack_) return;
        if (!cell.compare_exchange_strong(entry, &lent_, std::memory_order_acq_rel)) return;
        visit(*entry);
        cell.store(entry, std::memory_order_release);
    }

    /// Lets the worker go into the row that callers have, as far as they have come.
    void lookAhead() noexcept {
        std::uint64_t const word = next_.load(std::memory_order_acquire);
        if ((word & kClosed) == 0) rows_[open_].end = indexOf(word);
    }
    /// Gives callers the older row and takes theirs. False if that is empty, or this was closed.
    bool swap() noexcept {
        std::uint64_t word = next_.load(std::memory_order_relaxed);
        if ((word & kClosed) != 0 || indexOf(word) == 0) return false;
        cells_[1 - open_].clear(rows_[1 - open_].end);
        rows_[1 - open_] = {};
        std::uint64_t const other = std::uint64_t{1 - open_} << kRowShift;
        while (!next_.compare_exchange_weak(word, other, std::memory_order_seq_cst))
            if ((word & kClosed) != 0) return false;
        rows_[open_].end = indexOf(word);
        open_ = 1 - open_;
        ++swaps_;
        return true;
    }

    // What a cell holds instead of an entry that has left it. Only the addresses matter.
    static inline TimerTaskEntry taken_{};
    static inline TimerTaskEntry takenBack_{};
    static inline TimerTaskEntry lent_{};

    // For callers: whether closed, the row, and the index of its next cell.
    alignas(kCacheLine) std::atomic<std::uint64_t> next_{kClosed};
    alignas(kCacheLine) std::array<Cells, 2> cells_;

    // The worker's own, except the last.
    alignas(kCacheLine) std::array<Row, 2> rows_;
    std::size_t open_ = 0;
    std::uint64_t swaps_ = 0;
    std::uint64_t closedAt_ = kClosed;
};

}  // namespace timingwheel::inline v1::detail
