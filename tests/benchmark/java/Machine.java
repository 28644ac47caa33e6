package compare;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the kernel and the virtual machine say of this process: Machine.h in Java. */
public final class Machine {
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Names of the virtual machine's own threads, which come and go when it likes. */
    private static final List<String> OWN =
            List.of("C1 ", "C2 ", "GC ", "G1 ", "VM ", "Sweeper", "Common-Cleaner", "Notification");

    private Machine() {}

    /** All threads of the process: garbage collection is part of what a timer costs here. */
    public static long processCpuNanos() {
        var bean = (com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean();
        return bean.getProcessCpuTime();
    }

    public static long heapBytesAfterCollection() throws InterruptedException {
        System.gc();
        Thread.sleep(100);  // for threads that are ending, and what they hold
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private static Set<Path> threads() {
        try (Stream<Path> tasks = Files.list(TASKS)) {
            return tasks.collect(Collectors.toCollection(HashSet::new));
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static Set<Long> javaThreads() {
        return Arrays.stream(THREADS.getAllThreadIds()).boxed().collect(Collectors.toSet());
    }

    /** The threads that were started since this object was made, without the machine's own. */
    public static final class ThreadWatch {
        private final Set<Path> others = threads();
        private final Set<Long> known = javaThreads();

        public Usage usage() {
            long cpuNanos = 0;
            for (long thread : javaThreads())
                if (!known.contains(thread)) cpuNanos += Math.max(0, THREADS.getThreadCpuTime(thread));
            long wakeUps = 0;
            for (Path thread : threads()) {
                if (others.contains(thread)) continue;
                try {
                    String name = Files.readString(thread.resolve("comm"));
                    if (OWN.stream().anyMatch(name::startsWith)) continue;
                    wakeUps += voluntarySwitches(thread);
                } catch (NoSuchFileException ended) {
                    continue;
                } catch (IOException problem) {
                    throw new UncheckedIOException(problem);
                }
            }
            return new Usage(cpuNanos, wakeUps);
        }
    }

    public record Usage(long cpuNanos, long wakeUps) {
        public Usage minus(Usage other) {
            return new Usage(cpuNanos - other.cpuNanos, wakeUps - other.wakeUps);
        }
    }

    private static long voluntarySwitches(Path thread) throws IOException {
        String key = "voluntary_ctxt_switches:";
        for (String line : Files.readAllLines(thread.resolve("status"))) {
            if (line.startsWith(key)) return Long.parseLong(line.substring(key.length()).trim());
        }
        return 0;
    }
}
