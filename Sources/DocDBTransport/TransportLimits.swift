/// The limits and time-outs of links and HTTP, all of them; options start from these.
package enum TransportLimits {
    /// The largest frame of a peer that has not proven who it is (16 KiB).
    package static let unauthenticatedFrameByteCount = 16 * 1024
    /// The largest frame of a peer that has (16 MiB).
    package static let frameByteCount = 16 * 1024 * 1024
    /// Where a link's queue counts as drained (64 KiB).
    package static let lowWaterByteCount = 64 * 1024
    /// Connections one listener keeps open at most.
    package static let connectionCount = 10_000
    /// Connections one listener keeps open from one remote address, loopback excepted.
    package static let connectionCountPerAddress = 256

    /// Connections beyond the limit that are told why they are refused; further ones are closed without a word.
    package static let refusedConnectionCount = 64

    /// Seconds to open a link.
    package static let connectSeconds: Double = 15
    /// Seconds after which the next address of a name is tried, where there is one.
    package static let addressSeconds: Int64 = 5
    /// Seconds a client has for a whole request: TLS, head and body together.
    package static let requestSeconds: Int64 = 10
    /// Seconds a handler has to answer a request.
    package static let responseSeconds: Int64 = 60
    /// Seconds within which a link that was opened must be started.
    package static let startSeconds: Int64 = 20
    /// Seconds for which what is queued may keep a closing link open.
    package static let closeSeconds: Int64 = 5
    /// Seconds of silence after which a link asks whether the other side is there.
    package static let pingSeconds: Int64 = 25
    /// Seconds of silence after which a link is given up.
    package static let silenceSeconds: Int64 = 55

    /// The most bytes of a request's line and headers together.
    package static let requestHeadByteCount = 4096
    /// The most bytes of a request's body.
    package static let requestBodyByteCount = 64 * 1024

    /// The most bytes of a frame that are handed to the operating system in one piece (64 KiB).
    static let chunkByteCount = 64 * 1024
    /// What a connection may send before others have their turn, in bytes and in pieces.
    static let turnByteCount = 256 * 1024
    static let turnWriteCount = 32
    /// The bytes a connection reads at once; each connection holds a buffer of this size.
    static let receiveByteCount = 8 * 1024
    /// Connections that wait to be accepted.
    static let backlog: Int32 = 512
    /// Connections that are accepted before others have their turn.
    static let acceptCount = 64
    /// The most bytes that are reserved for a frame on its sender's word.
    static let reservedByteCount = 1024 * 1024
}
