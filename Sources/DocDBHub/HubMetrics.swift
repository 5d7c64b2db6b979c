import DocDBCore
import DocDBReplication
import Synchronization

/// Counts what a hub does, and tells it as Prometheus text.
package final class HubMetrics: Sendable {
    private struct State {
        var logins: [String: Int] = [:]
        var refusals: [String: Int] = [:]
        var loginBuckets = [Int](repeating: 0, count: HubMetrics.bounds.count + 1)
        var loginSeconds = 0.0
    }

    /// The upper bounds of the histogram of login times, in seconds.
    private static let bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]

    private let state = Lock(State())

    package init() {}

    /// Counts a login; the result is `accepted`, or the code of the refusal.
    func countLogin(_ result: String, seconds: Double) {
        state.withLock { state in
            state.logins[result, default: 0] += 1
            state.loginBuckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
            state.loginSeconds += seconds
        }
    }

    /// Counts a document that was refused, by the code.
    func countRefusal(_ code: String) { state.withLock { $0.refusals[code, default: 0] += 1 } }

    /// The metrics, version 0.0.4 of the text format.
    func text(_ engine: ReplicationEngine) -> String {
        let state = state.withLock { $0 }
        let status = engine.status
        let connected = status.peers.filter(\.isConnected)
        var text = ""
        func add(_ name: String, _ type: String, _ help: String, _ values: [(String, String)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (labels, value) in values { text += "\(name)\(labels) \(value)\n" }
        }
        func one(_ value: Int) -> [(String, String)] { [("", "\(value)")] }
        add("docdb_sessions", "gauge", "Peers that are connected.", one(connected.count))
        let traffic = engine.traffic
        add("docdb_frames_in_total", "counter", "Frames received.", one(traffic.receivedFrameCount))
        add("docdb_frames_out_total", "counter", "Frames sent.", one(traffic.sentFrameCount))
        add("docdb_bytes_in_total", "counter", "Bytes of frames received.", one(traffic.receivedByteCount))
        add("docdb_bytes_out_total", "counter", "Bytes of frames sent.", one(traffic.sentByteCount))
        add(
            "docdb_documents_refused_total", "counter", "Documents that were not taken from a peer, by the reason.",
            state.refusals.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") })
        add(
            "docdb_logins_total", "counter", "Logins, by what came of them.",
            state.logins.sorted { $0.key < $1.key }.map { ("{result=\"\($0.key)\"}", "\($0.value)") })
        var buckets: [(String, String)] = []
        var sum = 0
        for (index, count) in state.loginBuckets.enumerated() {
            sum += count
            let bound = index < Self.bounds.count ? "\(Self.bounds[index])" : "+Inf"
            buckets.append(("_bucket{le=\"\(bound)\"}", "\(sum)"))
        }
        buckets.append(("_sum", "\(state.loginSeconds)"))
        buckets.append(("_count", "\(sum)"))
        add("docdb_login_seconds", "histogram", "How long logins took, checking by the provider included.", buckets)
        return text
    }
}
