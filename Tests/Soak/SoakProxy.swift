import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The network between one client and the hub: passes bytes on, late, slowly, or not at all, and cuts connections.
final class SoakProxy: Sendable {
    /// What the network does at present.
    struct Weather: Sendable {
        /// Nothing passes, though nothing is closed.
        var isPartitioned = false
        /// New connections are closed at once.
        var isRefusing = false
        /// The most milliseconds that what has come waits, where a chunk waits at all.
        var delayMilliseconds: UInt32 = 0
        /// Nil where it is as fast as the machine.
        var bytesPerSecond: Int?
    }

    struct Figures {
        var connectionCount = 0
        var byteCount = 0
        /// How often a text came by that this client must not see.
        var canaryCount = 0
    }

    private struct State {
        var target: UInt16?
        var weather = Weather()
        var pairs: [ObjectIdentifier: SocketPair] = [:]
        var figures = Figures()
    }

    let port: UInt16
    private let listener: Int32
    private let canary: [UInt8]
    private let state = Mutex(State())

    /// - Parameter canary: what must not come from the hub; empty for nothing.
    init(canary: String) throws {
        self.canary = Array(canary.utf8)
        listener = LocalSocket.make()
        port = try LocalSocket.listen(listener)
        Thread.detachNewThread { [self] in acceptForever() }
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var figures: Figures { state.withLock { $0.figures } }
    func setTarget(_ port: UInt16?) { state.withLock { $0.target = port } }
    func setWeather(_ weather: Weather) { state.withLock { $0.weather = weather } }

    /// Cuts all connections.
    func cut() { for pair in state.withLock({ Array($0.pairs.values) }) { pair.cut() } }

    private func acceptForever() {
        while true {
            let accepted = LocalSocket.accept(listener)
            guard accepted >= 0 else { continue }
            let (target, weather) = state.withLock { ($0.target, $0.weather) }
            guard let target, !weather.isRefusing, let forward = LocalSocket.connect(target) else {
                close(accepted)
                continue
            }
            let pair = SocketPair(client: accepted, hub: forward)
            state.withLock { state in
                state.pairs[ObjectIdentifier(pair)] = pair
                state.figures.connectionCount += 1
            }
            Thread.detachNewThread { [self] in pass(pair, from: pair.client, to: pair.hub, seeks: false) }
            Thread.detachNewThread { [self] in pass(pair, from: pair.hub, to: pair.client, seeks: !canary.isEmpty) }
        }
    }

    private func pass(_ pair: SocketPair, from source: Int32, to target: Int32, seeks: Bool) {
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        // The end of the chunk before, in which the text may begin.
        var tail: [UInt8] = []
        while true {
            let count = read(source, &chunk, chunk.count)
            guard count > 0 else { break }
            let found = seeks && Self.contains(tail + chunk[..<count], canary)
            tail = Array((tail + chunk[..<count]).suffix(max(canary.count - 1, 0)))
            state.withLock { state in
                state.figures.byteCount += count
                if found { state.figures.canaryCount += 1 }
            }
            wait(toPass: count, pair)
            guard LocalSocket.write(target, chunk[..<count]) else { break }
        }
        pair.cut()
        if pair.endOneWay() { state.withLock { $0.pairs[ObjectIdentifier(pair)] = nil } }
    }

    /// Waits as the weather says, which may change meanwhile.
    private func wait(toPass count: Int, _ pair: SocketPair) {
        let weather = state.withLock { $0.weather }
        if weather.delayMilliseconds > 0 { usleep(UInt32.random(in: 0...weather.delayMilliseconds) * 1_000) }
        if let rate = weather.bytesPerSecond { usleep(UInt32(clamping: count * 1_000_000 / max(rate, 1))) }
        while state.withLock({ $0.weather.isPartitioned }), !pair.isCut { usleep(20_000) }
    }

    static func contains(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        guard let first = text.first else { return false }
        var start = bytes.startIndex
        while let index = bytes[start...].firstIndex(of: first) {
            if bytes[index...].starts(with: text) { return true }
            start = index + 1
        }
        return false
    }
}

/// A connection and its continuation; both are closed when both directions have ended.
private final class SocketPair: Sendable {
    let client: Int32
    let hub: Int32
    private let hasBeenCut = Atomic<Bool>(false)
    private let endedCount = Atomic<Int>(0)

    init(client: Int32, hub: Int32) { (self.client, self.hub) = (client, hub) }

    deinit {
        close(client)
        close(hub)
    }

    var isCut: Bool { hasBeenCut.load(ordering: .relaxed) }

    func cut() {
        hasBeenCut.store(true, ordering: .relaxed)
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(hub, Int32(SHUT_RDWR))
    }

    /// Returns true for the direction that ends last.
    func endOneWay() -> Bool { endedCount.wrappingAdd(1, ordering: .relaxed).newValue == 2 }
}

/// Sockets of the loopback interface.
enum LocalSocket {
    static func make() -> Int32 {
        #if canImport(Glibc)
            let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let made = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        return made
    }

    static func accept(_ listener: Int32) -> Int32 {
        let accepted = systemAccept(listener)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return accepted
    }

    /// Listens at a port that the system chooses, which is never given up.
    static func listen(_ listener: Int32) throws -> UInt16 {
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && systemListen(listener) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw SoakFailure("the proxy cannot listen") }
        return UInt16(bigEndian: address.sin_port)
    }

    static func connect(_ port: UInt16) -> Int32? {
        let made = make()
        var address = address(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                systemConnect(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(made)
            return nil
        }
        return made
    }

    static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

// The system's own, which methods of the same names hide.
private func systemAccept(_ listener: Int32) -> Int32 { accept(listener, nil, nil) }
private func systemListen(_ listener: Int32) -> Int32 { listen(listener, 64) }
private func systemConnect(_ made: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(made, address, length)
}
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
