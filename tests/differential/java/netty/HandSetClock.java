package differential;

/**
 * Stands in for java.lang.System in Netty's timer: time is what it is told. The timer's worker,
 * which would sleep until its next tick, is held here until that tick has come.
 */
public final class HandSetClock {
    private static final Object LOCK = new Object();

    // All protected by the lock.
    private static long now;
    private static long tick;
    private static Thread worker;
    private static boolean hasStarted;
    private static boolean isHeld;
    private static boolean isInsideTask;
    private static long start;
    private static long ticksBegun;

    private HandSetClock() {}

    /** What Netty calls. */
    public static long nanoTime() {
        synchronized (LOCK) {
            if (Thread.currentThread() != worker || isInsideTask) return now;
            if (hasStarted) return nextTick();
            hasStarted = true;
            start = now;
            return now;
        }
    }

    /** Netty's worker asks for the time to find out whether its next tick has come. */
    private static long nextTick() {
        try {
            while (now < nextTickTime()) {
                isHeld = true;
                LOCK.notifyAll();
                LOCK.wait();
            }
            ++ticksBegun;
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();  // for the sleep that comes next
        }
        isHeld = false;
        return now;
    }

    private static long nextTickTime() {
        return start + (ticksBegun + 1) * tick;
    }

    /** For a new timer, which has no thread yet. */
    static void begin(long time, long tickOfTheTimer) {
        synchronized (LOCK) {
            now = time;
            tick = tickOfTheTimer;
            worker = null;
            hasStarted = false;
            isHeld = false;
            ticksBegun = 0;
        }
    }

    static Thread workerOf(Runnable body) {
        synchronized (LOCK) {
            worker = new Thread(body);
            worker.setDaemon(true);
            return worker;
        }
    }

    /** Around a task: what it asks for the time is not the worker's own question. */
    static void setInsideTask(boolean isInside) {
        synchronized (LOCK) {
            isInsideTask = isInside;
        }
    }

    static long now() {
        synchronized (LOCK) {
            return now;
        }
    }

    /** Sets the time at once, and returns when the worker has walked every tick until then. */
    static void jumpTo(long time) throws InterruptedException {
        synchronized (LOCK) {
            set(time);
        }
    }

    /** The same from tick to tick: every task sees the time of its own. */
    static void advanceTo(long time) throws InterruptedException {
        synchronized (LOCK) {
            while (hasStarted && nextTickTime() <= time) set(nextTickTime());
            set(time);
        }
    }

    private static void set(long time) throws InterruptedException {
        now = time;
        LOCK.notifyAll();
        while (hasStarted && !(isHeld && now < nextTickTime())) LOCK.wait();
    }
}
