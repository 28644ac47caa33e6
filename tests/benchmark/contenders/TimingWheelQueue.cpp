#include "TimingWheelQueue.h"

#include "loads/WheelLoads.h"

namespace timingwheel::bench {
namespace {

Registration const registration{
    {"TimingWheel", "TimingWheel", "entries of 40 bytes, 16 of them payload; 20 slots a level"},
    queueLoads<Wheel>()};
Registration const another{
    {"TimingWheel-256", "TimingWheel, 256 slots", "the same with `wheelSize = 256`"},
    queueLoads<Wheel>(256)};

}  // namespace
}  // namespace timingwheel::bench
