package compare;

/** What a timer must offer to be compared: the concept TimerAdapter in Java. */
public interface TimerUnderTest {
    /** Returns what cancel() takes. */
    Object schedule(long delayNanos, Sink sink, int id);

    void cancel(Object token);

    /** Waits until another thread has done what schedule and cancel left it. */
    default void settle() throws InterruptedException {}

    long pending();

    void stop() throws Exception;

    /** Whole milliseconds, rounded up, for those who take no less. */
    static long millis(long nanos) {
        return (nanos + 999_999) / 1_000_000;
    }
}
