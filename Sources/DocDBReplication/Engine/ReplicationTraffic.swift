import Synchronization

/// Counts the frames of sessions and their bytes, before the link frames or encrypts them; read from any thread.
package final class ReplicationTraffic: Sendable {
    private let sentFrames = Atomic<Int>(0)
    private let sentBytes = Atomic<Int>(0)
    private let receivedFrames = Atomic<Int>(0)
    private let receivedBytes = Atomic<Int>(0)

    func countSent(_ byteCount: Int) {
        sentFrames.add(1, ordering: .relaxed)
        sentBytes.add(byteCount, ordering: .relaxed)
    }

    func countReceived(_ byteCount: Int) {
        receivedFrames.add(1, ordering: .relaxed)
        receivedBytes.add(byteCount, ordering: .relaxed)
    }

    package var sentFrameCount: Int { sentFrames.load(ordering: .relaxed) }
    package var sentByteCount: Int { sentBytes.load(ordering: .relaxed) }
    package var receivedFrameCount: Int { receivedFrames.load(ordering: .relaxed) }
    package var receivedByteCount: Int { receivedBytes.load(ordering: .relaxed) }
}
