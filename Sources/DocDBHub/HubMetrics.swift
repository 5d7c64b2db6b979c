import DocDBCore
import DocDBReplication
package import DocDBSync
import Synchronization

/// Counts what a hub does, and tells it as Prometheus text.
package final class HubMetrics: Sendable {
    private struct State {
        var logins: [String: Int] = [:]
        var refusals: [String: Int] = [:]
        var loginTimes = Histogram()
    }

    private let state = Lock(State())

    package init() {}

    /// Counts a login; the result is `accepted`, or the code of the refusal.
    func countLogin(_ result: String, seconds: Double) {
        state.withLock { state in
            state.logins[result, default: 0] += 1
            state.loginTimes.add(seconds: seconds)
        }
    }

    /// Counts a document that was refused.
    package func countRefusal(_ code: RefusalCode) {
        state.withLock { $0.refusals[Self.name(of: code), default: 0] += 1 }
    }

    /// The value of the label: few, whatever peers do.
    private static func name(of code: RefusalCode) -> String {
        switch code {
        case .denied: "denied"
        case .clock: "clock"
        case .relay: "relay"
        case .limit: "limit"
        case .malformed: "malformed"
        case .transaction: "transaction"
        case .userLimit: "userLimit"
        default: "other"
        }
    }

    /// The metrics, version 0.0.4 of the text format.
    func text(_ engine: ReplicationEngine, lagSeconds: Double) -> String {
        let state = state.withLock { $0 }
        let traffic = engine.traffic
        var text = MetricsText()
        text.add(
            "docdb_sessions", .gauge, "Peers that are connected.", engine.status.peers.count(where: \.isConnected))
        text.add("docdb_frames_in_total", .counter, "Frames received.", traffic.receivedFrameCount)
        text.add("docdb_frames_out_total", .counter, "Frames sent.", traffic.sentFrameCount)
        text.add("docdb_bytes_in_total", .counter, "Bytes of frames received.", traffic.receivedByteCount)
        text.add("docdb_bytes_out_total", .counter, "Bytes of frames sent.", traffic.sentByteCount)
        text.add(
            "docdb_documents_in_total", .counter, "Documents that changed here by what peers sent.",
            traffic.appliedDocumentCount)
        text.add(
            "docdb_documents_out_total", .counter, "Documents told to peers, whole, changed or gone.",
            traffic.sentDocumentCount)
        text.add(
            "docdb_documents_refused_total", .counter, "Documents that were not taken from a peer, by the reason.",
            by: "code", state.refusals)
        let hits = engine.userLimitHits
        text.add(
            "docdb_user_limit_reached_total", .counter, "How often a user had reached a limit, by the limit.",
            by: "limit", Dictionary(uniqueKeysWithValues: UserLimit.allCases.map { ($0.rawValue, hits[$0]) }))
        text.add(
            "docdb_commit_seconds", "How long it took to check, join and commit what a peer sent.",
            traffic.commitTimes)
        text.add(
            "docdb_lag_seconds", .gauge, "How long the oldest changes sent wait for their peer's acknowledgement.",
            lagSeconds)
        text.add("docdb_logins_total", .counter, "Logins, by what came of them.", by: "result", state.logins)
        text.add(
            "docdb_login_seconds", "How long logins took, checking by the provider included.", state.loginTimes)
        return text.text
    }
}

/// Metrics as they are written for Prometheus: one family after the other, its help and type first.
struct MetricsText {
    enum Kind: String {
        case gauge, counter, histogram
    }

    private(set) var text = ""

    private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: some Numeric) {
        begin(name, kind, help)
        text += "\(name) \(value)\n"
    }

    /// A family with one value for each value of a label, which are names of ours: nothing in them needs escaping.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, by label: String, _ values: [String: Int]) {
        begin(name, kind, help)
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { text += "\(name){\(label)=\"\(key)\"} \(value)\n" }
    }

    mutating func add(_ name: String, _ help: String, _ histogram: Histogram) {
        begin(name, .histogram, help)
        var count = 0
        for (index, part) in histogram.counts.enumerated() {
            count += part
            let bound = index < histogram.bounds.count ? "\(histogram.bounds[index])" : "+Inf"
            text += "\(name)_bucket{le=\"\(bound)\"} \(count)\n"
        }
        text += "\(name)_sum \(histogram.sum)\n\(name)_count \(count)\n"
    }
}
