/// The limits and time-outs of links and HTTP, all of them; options start from these.
package enum TransportLimits {
    /// The largest frame of a peer that has not proven who it is (16 KiB).
    package static let unauthenticatedFrameByteCount = 16 * 1024
    /// The largest frame of a peer that has (16 MiB).
    package static let frameByteCount = 16 * 1024 * 1024
    /// Where a link's queue counts as drained (64 KiB).
    package static let lowWaterByteCount = 64 * 1024
    /// Connections one listener keeps open at most, refused ones that are being told so included.
    package static let connectionCount = 10_000
    /// Connections one listener keeps open from one remote address, loopback excepted.
    package static let connectionCountPerAddress = 256

    /// Seconds to open a link.
    package static let connectSeconds: Double = 15
    /// Seconds a client has for a whole request: TLS, head and body together.
    package static let requestSeconds: Int32 = 10
    /// Seconds a handler has to answer a request.
    package static let responseSeconds: Int32 = 60
    /// Seconds for which what is queued may keep a closing link open.
    package static let closeSeconds: Int32 = 5
    /// Seconds of silence after which a link asks whether the other side is there.
    package static let pingSeconds: UInt16 = 25
    /// Seconds of silence after which a link is given up.
    package static let silenceSeconds: UInt16 = 55

    /// The most bytes of a request's line and headers together.
    package static let requestHeadByteCount = 4096
    /// The most bytes of a request's body.
    package static let requestBodyByteCount = 64 * 1024
}
