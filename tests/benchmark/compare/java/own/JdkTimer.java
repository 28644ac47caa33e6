package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import java.util.Timer;
import java.util.TimerTask;

public final class JdkTimer implements TimerUnderTest {
    private final Timer timer = new Timer("compare");

    public JdkTimer(int tickMillis) {}

    @Override
    public Object schedule(long delayNanos, Sink sink, int id) {
        TimerTask task = new TimerTask() {
            @Override
            public void run() {
                sink.fired(id);
            }
        };
        timer.schedule(task, TimerUnderTest.millis(delayNanos));
        return task;
    }

    @Override
    public void cancel(Object token) {
        ((TimerTask) token).cancel();
    }

    @Override
    public void stop() {
        timer.cancel();
    }
}
