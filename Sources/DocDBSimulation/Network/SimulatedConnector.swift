import DocDBCore
import DocDBTransport

/// Opens links in a simulated network.
final class SimulatedConnector: Connector {
    private let network: SimulatedNetwork
    private let process: SimulatedProcess

    init(_ network: SimulatedNetwork, _ process: SimulatedProcess) {
        self.network = network
        self.process = process
    }

    func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt {
        let attempt = SimulatedAttempt(network.time, completion)
        let port = url.split(separator: ":").last.flatMap { UInt16($0.split(separator: "/").first ?? $0) }
        network.connect(process, to: port, options: options, attempt)
        return attempt
    }
}

/// A link that is being opened in a simulated network.
final class SimulatedAttempt: ConnectionAttempt, @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    private let time: SimulatedTime
    private var completion: (@Sendable (Result<any Link, DocDBError>) -> Void)?

    init(_ time: SimulatedTime, _ completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void) {
        self.time = time
        self.completion = completion
    }

    var isDone: Bool { completion == nil }

    func complete(_ result: Result<any Link, DocDBError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    func cancel() {
        time.schedule(after: .zero) { [self] in
            complete(.failure(DocDBError(.cancelled, "the attempt to connect was given up")))
        }
    }
}

/// Waits for links in a simulated network.
final class SimulatedListener: Listener, @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    let process: SimulatedProcess
    private let network: SimulatedNetwork
    private let port: UInt16
    private(set) var accept: (@Sendable (any Link) -> Void)?

    init(_ network: SimulatedNetwork, _ process: SimulatedProcess, port: UInt16) {
        self.network = network
        self.process = process
        self.port = port
    }

    var boundAddress: SocketAddress? { accept == nil ? nil : SocketAddress(host: "127.0.0.1", port: port) }

    func start(_ accept: @escaping @Sendable (any Link) -> Void) throws(DocDBError) {
        try network.add(self, port: port)
        self.accept = accept
    }

    func stop() {
        accept = nil
        network.remove(self, port: port)
    }
}
