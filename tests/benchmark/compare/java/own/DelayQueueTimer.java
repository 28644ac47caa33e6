package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

public final class DelayQueueTimer implements TimerUnderTest {
    private static final class Task implements Delayed {
        private final long deadline;
        private final Sink sink;
        private final int id;

        Task(long deadline, Sink sink, int id) {
            this.deadline = deadline;
            this.sink = sink;
            this.id = id;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(deadline - ((Task) other).deadline, 0);
        }
    }

    private final DelayQueue<Task> queue = new DelayQueue<>();
    private final Thread thread = new Thread(this::takeAndRun, "compare");

    public DelayQueueTimer(int tickMillis) {
        thread.setDaemon(true);
        thread.start();
    }

    private void takeAndRun() {
        try {
            while (true) {
                Task task = queue.take();
                task.sink.fired(task.id);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public Object schedule(long delayNanos, Sink sink, int id) {
        Task task = new Task(System.nanoTime() + delayNanos, sink, id);
        queue.put(task);
        return task;
    }

    @Override
    public void cancel(Object token) {
        queue.remove(token);
    }

    @Override
    public long pending() {
        return queue.size();
    }

    @Override
    public void stop() throws InterruptedException {
        thread.interrupt();
        thread.join();
    }
}
