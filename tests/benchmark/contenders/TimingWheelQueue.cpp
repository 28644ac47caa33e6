#include "TimingWheelQueue.h"

#include "wheel/QueueLoads.h"

namespace timingwheel::bench {
namespace {

using Exact = Wheel<Deadlines::exact>;
using Tolerant = Wheel<Deadlines::tolerant>;

Registration const ours{{.id = "TimingWheel",
                         .title = "TimingWheel",
                         .usage = "entries of 40 bytes that belong to the user, 16 of them "
                                  "payload; 20 slots a level, the default",
                         .kind = "wheel"},
                        queueLoads<Exact>()};

Registration const withTolerance{
    {.id = "TimingWheel-tolerance",
     .title = "TimingWheel, tolerance",
     .usage = "the same; each deadline is rounded up, as a `tolerance` of a tenth of its delay "
              "allows, to the coarsest slots that are no wider",
     .kind = "wheel"},
    queueLoads<Tolerant>()};

Registration const of256{{.id = "TimingWheel-256",
                          .title = "TimingWheel, 256 slots",
                          .usage = "the same with `wheelSize = 256`",
                          .kind = "wheel"},
                         queueLoads<Exact>(256)};

Registration const of512{{.id = "TimingWheel-512",
                          .title = "TimingWheel, 512 slots",
                          .usage = "the same with `wheelSize = 512`",
                          .kind = "wheel"},
                         queueLoads<Exact>(512)};

}  // namespace
}  // namespace timingwheel::bench
