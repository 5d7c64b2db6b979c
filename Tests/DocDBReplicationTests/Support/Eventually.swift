import DocDBReplication
import Foundation

/// Waits until a condition holds, looking whenever a status changes, and each hundredth of a second.
func eventually(
    _ peers: [EnginePeer], until condition: @escaping @Sendable () throws -> Bool
) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let tokens = peers.map { $0.engine.statusObservers.add { _ in continuation.yield() } }
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { continuation.yield() }
    timer.schedule(deadline: .now(), repeating: .milliseconds(10))
    timer.activate()
    defer {
        timer.cancel()
        for token in tokens { token.cancel() }
    }
    for await _ in stream where try condition() { return }
    throw CancellationError()
}
