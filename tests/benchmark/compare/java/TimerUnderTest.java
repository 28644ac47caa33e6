package compare;

/** What a timer must offer to be compared: the concept TimerAdapter of Contender.h in Java. */
public interface TimerUnderTest {
    /** Returns what cancel() takes. */
    Object schedule(long delayNanos, Sink sink, int id);

    void cancel(Object token);

    /** Waits until another thread has done what schedule and cancel left it. */
    default void settle() throws InterruptedException {}

    /** How many are pending; -1 if it cannot say. */
    default long pending() {
        return -1;
    }

    void stop() throws Exception;

    /** Whole milliseconds, rounded up, for those who take no less. */
    static long millis(long nanos) {
        return (nanos + 999_999) / 1_000_000;
    }
}
