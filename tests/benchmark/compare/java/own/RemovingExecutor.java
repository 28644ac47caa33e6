package compare.own;

public final class RemovingExecutor extends ExecutorTimer {
    public RemovingExecutor(int tickMillis) {
        super(true);
    }
}
