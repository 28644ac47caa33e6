package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.SystemTimerReaper;
import org.apache.kafka.server.util.timer.TimerTask;

public final class KafkaTimer implements TimerUnderTest {
    private static final class Task extends TimerTask {
        private final Sink sink;
        private final int id;

        Task(long delayMillis, Sink sink, int id) {
            super(delayMillis);
            this.sink = sink;
            this.id = id;
        }

        @Override
        public void run() {
            sink.fired(id);
        }
    }

    private final SystemTimerReaper timer;

    public KafkaTimer(int tickMillis) {
        timer = new SystemTimerReaper("compare-reaper",
                new SystemTimer("compare", tickMillis, 20, Time.SYSTEM.hiResClockMs()));
    }

    @Override
    public Object schedule(long delayNanos, Sink sink, int id) {
        Task task = new Task(TimerUnderTest.millis(delayNanos), sink, id);
        timer.add(task);
        return task;
    }

    @Override
    public void cancel(Object token) {
        ((Task) token).cancel();
    }

    @Override
    public long pending() {
        return timer.size();
    }

    @Override
    public void stop() throws Exception {
        timer.close();
    }
}
