import DocDBCore
import Synchronization

/// Counts what sessions exchange: frames and their bytes before the link frames or encrypts them, and documents; read from
/// any thread.
package final class ReplicationTraffic: Sendable {
    private let sentFrames = Atomic<Int>(0)
    private let sentBytes = Atomic<Int>(0)
    private let receivedFrames = Atomic<Int>(0)
    private let receivedBytes = Atomic<Int>(0)
    private let sentDocuments = Atomic<Int>(0)
    private let appliedDocuments = Atomic<Int>(0)
    private let commits = Lock(Histogram())

    func countSent(_ byteCount: Int) {
        sentFrames.add(1, ordering: .relaxed)
        sentBytes.add(byteCount, ordering: .relaxed)
    }

    func countReceived(_ byteCount: Int) {
        receivedFrames.add(1, ordering: .relaxed)
        receivedBytes.add(byteCount, ordering: .relaxed)
    }

    func countSentDocuments(_ count: Int) { sentDocuments.add(count, ordering: .relaxed) }

    /// Counts a commit of what a peer sent.
    func countApplied(_ count: Int, seconds: Double) {
        appliedDocuments.add(count, ordering: .relaxed)
        commits.withLock { $0.add(seconds: seconds) }
    }

    package var sentFrameCount: Int { sentFrames.load(ordering: .relaxed) }
    package var sentByteCount: Int { sentBytes.load(ordering: .relaxed) }
    package var receivedFrameCount: Int { receivedFrames.load(ordering: .relaxed) }
    package var receivedByteCount: Int { receivedBytes.load(ordering: .relaxed) }
    /// Documents told to peers, whole, changed or gone.
    package var sentDocumentCount: Int { sentDocuments.load(ordering: .relaxed) }
    /// Documents that changed here by what peers sent.
    package var appliedDocumentCount: Int { appliedDocuments.load(ordering: .relaxed) }
    /// How long it took to check, join and commit what a peer sent, a snapshot each time.
    package var commitTimes: Histogram { commits.withLock { $0 } }
}
