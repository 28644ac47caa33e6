#include "TimingWheelQueue.h"

#include "loads/WheelLoads.h"

#include <cstddef>
#include <new>

#if defined(__linux__)
#    include <sys/mman.h>
#endif

namespace timingwheel::bench {
namespace {

/// Asks for huge pages: then fewer addresses have to be translated.
template <class T>
struct InHugePages {
    using value_type = T;
    static constexpr std::align_val_t kHugePage{std::size_t{2} << 20U};

    static T* allocate(std::size_t count) {
        void* const memory = ::operator new(count * sizeof(T), kHugePage);
#if defined(MADV_HUGEPAGE)
        madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    static void deallocate(T* memory, std::size_t) { ::operator delete(memory, kHugePage); }
    bool operator==(InHugePages const&) const = default;
};

Registration const registration{
    {"TimingWheel", "TimingWheel", "entries of 40 bytes, 16 of them payload; 20 slots a level"},
    queueLoads<Wheel>()};
Registration const another{
    {"TimingWheel-256", "TimingWheel, 256 slots", "the same with `wheelSize = 256`"},
    queueLoads<Wheel>(256)};
Registration const huge{{"TimingWheel-huge", "TimingWheel, huge pages",
                         "20 slots; entries in memory that is advised to have huge pages"},
                        queueLoads<WheelIn<InHugePages>>()};

}  // namespace
}  // namespace timingwheel::bench
