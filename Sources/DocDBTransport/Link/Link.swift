/// A connection between two peers that carries whole binary frames, in order, both ways.
///
/// All members may be used from any thread, inside a handler's calls too.
package protocol Link: AnyObject, Sendable {
    /// What is known of the other side; it does not change while the link lives.
    var info: LinkInfo { get }

    /// The largest frame, in bytes, that the other side may send; a larger one closes the link before it is buffered.
    ///
    /// Sessions begin with `TransportLimits.unauthenticatedFrameByteCount` and raise it when the peer has proven itself.
    var frameByteLimit: Int { get set }

    /// Bytes of frames that were sent and not yet handed to the operating system.
    var queuedByteCount: Int { get }

    /// Begins delivery to `handler`, which the link keeps until it has closed; nothing is delivered before this.
    func start(_ handler: any LinkHandler)

    /// Queues a frame and returns at once; does nothing once the link is closing.
    func send(_ frame: [UInt8])

    /// Stops or resumes receiving, which in turn stops or resumes the other side; frames already read may still arrive.
    func setReceiving(_ isReceiving: Bool)

    /// Closes the link once what was queued has gone out, at the latest after the transport's time-out.
    ///
    /// The handler hears of it by `link(_:didClose:)`, once, whichever side closed. Later calls do nothing.
    func close(_ reason: LinkCloseReason)
}

/// What a link reports to; called one call at a time for each link, on the transport's thread, and must be brief.
package protocol LinkHandler: AnyObject, Sendable {
    /// The link is open: the first call of all.
    func linkDidOpen(_ link: any Link)

    /// A whole frame has arrived.
    func link(_ link: any Link, didReceive frame: [UInt8])

    /// `queuedByteCount` has fallen to the low-water mark or below, after it had been above it.
    func linkDidDrain(_ link: any Link)

    /// The link has closed: the last call of all.
    func link(_ link: any Link, didClose reason: LinkCloseReason)
}
