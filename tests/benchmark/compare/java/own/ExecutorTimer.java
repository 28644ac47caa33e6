package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

abstract class ExecutorTimer implements TimerUnderTest {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);
    private final boolean removes;

    ExecutorTimer(boolean removes) {
        this.removes = removes;
        executor.setRemoveOnCancelPolicy(removes);
        executor.prestartAllCoreThreads();
    }

    @Override
    public final Object schedule(long delayNanos, Sink sink, int id) {
        return executor.schedule(() -> sink.fired(id), delayNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public final void cancel(Object token) {
        ((Future<?>) token).cancel(false);
    }

    @Override
    public final long pending() {
        return removes ? executor.getQueue().size() : -1;
    }

    @Override
    public final void stop() {
        executor.shutdownNow();
    }
}
