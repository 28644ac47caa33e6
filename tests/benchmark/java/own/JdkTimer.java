package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

public final class JdkTimer implements TimerUnderTest {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);

    public JdkTimer(int tickMillis) {
        executor.setRemoveOnCancelPolicy(true);
        executor.prestartAllCoreThreads();
    }

    @Override
    public Object schedule(long delayNanos, Sink sink, int id) {
        return executor.schedule(() -> sink.fired(id), delayNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void cancel(Object token) {
        ((Future<?>) token).cancel(false);
    }

    @Override
    public long pending() {
        return executor.getQueue().size();
    }

    @Override
    public void stop() {
        executor.shutdownNow();
    }
}
