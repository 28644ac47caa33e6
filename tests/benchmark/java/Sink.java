package compare;

/** Where the callbacks arrive: Sink.h in Java. Fired by one thread at a time. */
public final class Sink {
    private final int expected;
    private final long[] times;
    private volatile int count;

    public Sink(int expected, boolean recordsTimes) {
        this.expected = expected;
        this.times = recordsTimes ? new long[expected] : null;
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField")
    public void fired(int id) {
        if (times != null) times[id] = System.nanoTime();
        count = count + 1;
    }

    public int count() {
        return count;
    }

    public void waitForAll(long patienceNanos) throws InterruptedException {
        long start = System.nanoTime();
        while (count < expected) {
            if (System.nanoTime() - start > patienceNanos) {
                throw new IllegalStateException(
                        "only " + count + " of " + expected + " timers fired in time");
            }
            Thread.sleep(1);
        }
    }

    public long[] times() {
        return times;
    }
}
