package org.apache.kafka.server.util.timer;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Does random operations to Kafka's own wheel and writes down what it did, in the format of
 * tests/golden/*.trace. It stands in Kafka's package because from elsewhere nobody can make a
 * wheel or see what is in it.
 *
 * <p>Takes from stdin a line for each trace, `tick wheelSize start operations bits seed`: the
 * longest delays and steps of the clock have so many bits. The clock is set by hand: a bucket is
 * taken from the queue when it has expired by that clock, and what SystemTimer does with it then is
 * done here in the same order.
 */
public final class WheelRecorder {
    private static final class Task extends TimerTask {
        final int id;

        Task(int id) {
            super(0);
            this.id = id;
        }

        @Override
        public void run() {}
    }

    private record Place(int level, int slot) {}

    private static final int FLUSHED_AT = 1 << 16;

    private final OutputStream stdout;
    private final StringBuilder out = new StringBuilder();

    private final long tick;
    private final int wheelSize;
    private final int bits;
    private final SplittableRandom random;

    private final AtomicInteger size = new AtomicInteger();
    private final DelayQueue<TimerTaskList> queue = new DelayQueue<>();
    private final List<TimingWheel> levels = new ArrayList<>();
    private final Map<TimerTaskList, Place> places = new IdentityHashMap<>();
    private final List<Task> tasks = new ArrayList<>();
    private long now;
    private long lastExpiration;
    private int fires;

    private WheelRecorder(long[] shape, OutputStream stdout) throws ReflectiveOperationException {
        tick = shape[0];
        wheelSize = (int) shape[1];
        now = shape[2];
        bits = (int) shape[4];
        random = new SplittableRandom(shape[5]);
        lastExpiration = now;
        this.stdout = stdout;
        levels.add(new TimingWheel(tick, wheelSize, now, size, queue));
        learnPlaces(0);
    }

    public static void main(String[] arguments) throws Exception {
        OutputStream stdout = new FileOutputStream(FileDescriptor.out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long[] shape = new long[words.length];
            for (int i = 0; i < words.length; ++i) shape[i] = Long.parseLong(words[i]);
            new WheelRecorder(shape, stdout).record(shape[3]);
        }
    }

    private void record(long operations) throws Exception {
        out.append("config tick=").append(tick).append(" wheelSize=").append(wheelSize)
                .append(" start=").append(now).append('\n');
        // So many of a hundred operations move the clock, so many of ten others cancel.
        int advances = 1 + random.nextInt(random.nextBoolean() ? 50 : 5);
        int cancels = random.nextInt(5);
        for (long done = 0; done < operations; ++done) {
            if (random.nextInt(100) < advances) {
                advance(now + step());
            } else if (random.nextInt(10) < cancels && !tasks.isEmpty()) {
                cancel(anyTask());
            } else if (random.nextInt(10) == 0 && !tasks.isEmpty()) {
                add("readd ", anyTask());
            } else {
                tasks.add(new Task(tasks.size()));
                add("add ", tasks.get(tasks.size() - 1));
            }
            if (out.length() > FLUSHED_AT) write();
        }
        while (!queue.isEmpty()) advance(Math.max(now, queue.peek().getExpiration()));
        out.append("done tasks=").append(tasks.size()).append(" fires=").append(fires)
                .append(" levels=").append(levels.size()).append('\n');
        write();
    }

    private void write() throws IOException {
        stdout.write(out.toString().getBytes(StandardCharsets.ISO_8859_1));
        out.setLength(0);
    }

    // ---- what is chosen ------------------------------------------------------------------------

    /** Mostly one of the latest: it is likely to be queued still. */
    private Task anyTask() {
        int among = random.nextBoolean() ? Math.min(tasks.size(), 20) : tasks.size();
        return tasks.get(tasks.size() - 1 - random.nextInt(among));
    }

    /** As often of one number of bits as of another. */
    private long upTo(int mostBits) {
        return random.nextLong(1L << random.nextInt(mostBits + 1));
    }

    private long expiration() {
        return switch (random.nextInt(9)) {
            case 0 -> now + random.nextLong(2 * tick + 1);
            case 1, 2 -> now + random.nextLong(tick * wheelSize + 1);
            case 3 -> now - random.nextLong(3 * tick + 1);
            case 4 -> lastExpiration;
            case 5, 6 -> besideABoundary();
            default -> now + upTo(bits);
        };
    }

    /** Where the slot of some level begins, or 1 before or behind. */
    private long besideABoundary() {
        long granularity = tick;
        for (int level = random.nextInt(6); level > 0; --level)
            if (granularity <= (1L << bits) / wheelSize) granularity *= wheelSize;
        long slots = now / granularity + random.nextInt(wheelSize + 2);
        return slots * granularity + random.nextInt(3) - 1;
    }

    private long step() {
        TimerTaskList next = queue.peek();
        long toNext = next == null ? 0 : next.getExpiration() - now;
        return switch (random.nextInt(6)) {
            case 0 -> random.nextLong(2);
            case 1 -> random.nextLong(tick + 1);
            case 2 -> Math.max(0, toNext);
            case 3 -> Math.max(0, toNext - 1);
            case 4 -> random.nextLong(tick * wheelSize + 1);
            default -> upTo(bits);
        };
    }

    // ---- what is done to the wheel -------------------------------------------------------------

    private void add(String event, Task task) throws ReflectiveOperationException {
        lastExpiration = expiration();
        TimerTaskEntry entry = new TimerTaskEntry(task, lastExpiration);
        boolean isQueued = levels.get(0).add(entry);
        learnLevels();
        out.append(event).append(task.id).append(' ').append(lastExpiration);
        if (isQueued) {
            out.append(" queued");
            appendBucket(entry.list);
        } else {
            out.append(" expired");
        }
        out.append(" size=").append(size.get()).append('\n');
        if (!isQueued) fire(task);
    }

    private void cancel(Task task) {
        TimerTaskEntry entry = task.getTimerTaskEntry();
        String was = entry == null ? "cancelled" : entry.list == null ? "fired" : "queued";
        task.cancel();
        out.append("cancel ").append(task.id).append(' ').append(was).append(" size=")
                .append(size.get()).append('\n');
    }

    private void advance(long time) {
        now = time;
        out.append("advance ").append(now).append('\n');
        int before = fires;
        for (TimerTaskList bucket = queue.peek(); bucket != null && bucket.getExpiration() <= now;
                bucket = queue.peek()) {
            queue.remove(bucket);
            levels.get(0).advanceClock(bucket.getExpiration());
            out.append("flush");
            appendBucket(bucket);
            bucket.foreach(task -> out.append(' ').append(((Task) task).id));
            out.append('\n');
            bucket.flush(this::placeAgain);
        }
        out.append("end fired=").append(fires - before).append(" size=").append(size.get())
                .append(" armed=").append(queue.size()).append(" clocks=");
        for (TimingWheel level : levels) out.append(level.currentTimeMs()).append(',');
        out.setCharAt(out.length() - 1, '\n');
    }

    private void placeAgain(TimerTaskEntry entry) {
        Task task = (Task) entry.timerTask;
        if (levels.get(0).add(entry)) {
            out.append("move ").append(task.id);
            appendBucket(entry.list);
            out.append('\n');
        } else if (!entry.cancelled()) {
            fire(task);
        }
    }

    private void fire(Task task) {
        ++fires;
        task.run();
        out.append("fire ").append(task.id).append('\n');
    }

    // ---- what is seen of it --------------------------------------------------------------------

    private void appendBucket(TimerTaskList bucket) {
        Place place = places.get(bucket);
        out.append(' ').append(place.level).append(' ').append(place.slot).append(' ')
                .append(bucket.getExpiration());
    }

    private void learnLevels() throws ReflectiveOperationException {
        TimingWheel last = levels.get(levels.size() - 1);
        while (last.overflowWheel() != null) {
            last = last.overflowWheel();
            levels.add(last);
            learnPlaces(levels.size() - 1);
        }
    }

    private void learnPlaces(int level) throws ReflectiveOperationException {
        Field field = TimingWheel.class.getDeclaredField("buckets");
        field.setAccessible(true);
        TimerTaskList[] buckets = (TimerTaskList[]) field.get(levels.get(level));
        for (int slot = 0; slot < buckets.length; ++slot)
            places.put(buckets[slot], new Place(level, slot));
    }
}
