#include "core/flat/CellQueue.h"

#include <new>

namespace timingwheel::inline v1::detail {

CellQueue::Cells::~Cells() {
    for (std::size_t number = 1; number < segments_.size(); ++number) {
        Cell* const segment = segments_[number].load(std::memory_order_relaxed);
        if (segment != &refused_) delete[] segment;
    }
}

CellQueue::Cell* CellQueue::Cells::makeSegment(unsigned number) noexcept {
    Cell* const made = new (std::nothrow) Cell[sizeOf(number)]{};
    Cell* const mine = made == nullptr ? &refused_ : made;
    Cell* seen = nullptr;
    if (segments_[number].compare_exchange_strong(seen, mine, std::memory_order_acq_rel,
                                                  std::memory_order_acquire))
        return mine;
    delete[] made;
    return seen;
}

void CellQueue::Cells::clear(std::uint64_t count) noexcept {
    for (unsigned number = 0; count > 0; ++number) {
        std::uint64_t const size = sizeOf(number) < count ? sizeOf(number) : count;
        Cell* const segment = segments_[number].load(std::memory_order_relaxed);
        if (segment == &refused_)  // the next one tries again
            segments_[number].store(nullptr, std::memory_order_relaxed);
        else
            for (std::uint64_t i = 0; i < size; ++i)
                segment[i].store(nullptr, std::memory_order_relaxed);
        count -= size;
    }
}

}  // namespace timingwheel::inline v1::detail
