import DocDBCore
import DocDBTransport
import TestSupport

/// A transport with one listener, and links between the two.
final class TestNetwork: Sendable {
    let transport: WebSocketTransport
    let listener: WebSocketListener
    let accepted = Inbox<any Link>()
    let port: UInt16
    let certificates: TestCertificates?

    init(
        isTLS: Bool = false, certificates: TestCertificates? = nil,
        _ change: (inout ListenOptions) -> Void = { _ in }
    ) throws {
        transport = try WebSocketTransport()
        let made = try isTLS ? certificates ?? TestCertificates() : nil
        self.certificates = made
        var options = ListenOptions(identity: made?.identity)
        change(&options)
        listener = transport.listener(options)
        try listener.start { [accepted] link in accepted.put(link) }
        guard let address = listener.boundAddress else { throw DocDBError(.misuse, "no address was bound") }
        port = address.port
    }

    deinit { transport.shutdown() }

    var url: String { certificates == nil ? "ws://127.0.0.1:\(port)" : "wss://127.0.0.1:\(port)" }

    var connectOptions: ConnectOptions {
        var options = ConnectOptions()
        if let certificates { options.trust = .authorities(file: certificates.authorityFile) }
        return options
    }

    /// Opens a link and starts both ends.
    func open(
        _ client: Recorder, _ server: Recorder, frameByteLimit: Int = TransportLimits.frameByteCount
    ) async throws -> (client: any Link, server: any Link) {
        let first = try await transport.connect(to: url, connectOptions)
        let second = await accepted.next()
        first.frameByteLimit = frameByteLimit
        second.frameByteLimit = frameByteLimit
        first.start(client)
        second.start(server)
        return (first, second)
    }
}
