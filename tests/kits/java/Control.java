import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The control program of the Java kit; ../cases.py says what it does. */
public final class Control {
    public static void main(String[] arguments) throws IOException {
        Leaseproof.control(Map.of(
                "echo", request -> {
                    Map<String, Object> got = new LinkedHashMap<>(request);
                    got.keySet().removeAll(List.of("id", "request"));
                    return Map.of("got", got);
                },
                "nothing", request -> null,
                "fail", request -> {
                    throw new IllegalStateException(Leaseproof.<String>get(request, "text"));
                },
                "print", request -> {
                    System.out.println(request.get("text"));
                    return null;
                }));
    }
}
