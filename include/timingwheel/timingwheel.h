/// The core library: all but Asio's timers and the components (calendar, store, kafka). Each header
/// may be included by itself as well.

#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/PendingTimeout.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimedScheduler.h>
#include <timingwheel/Timeout.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/TimerTask.h>
#include <timingwheel/TimerTrace.h>
#include <timingwheel/WheelTimer.h>
#include <timingwheel/When.h>
#include <timingwheel/ifAlive.h>
#include <timingwheel/prometheus.h>
#include <timingwheel/tagged.h>
#include <timingwheel/version.h>
#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>
