/// How well the links of a simulated network work.
///
/// A link is a stream, as a WebSocket is: what arrives, arrives in order and once. Where something is lost, the link breaks.
public struct NetworkConditions: Sendable, Hashable {
    /// The least time that a frame travels.
    public var minimumDelay = Duration.milliseconds(1)
    /// The most time that a frame travels, waiting for those before it left out.
    public var maximumDelay = Duration.milliseconds(10)
    /// How many bytes a link carries each second, each way; nil for no such bound.
    public var bytesPerSecond: Int?
    /// The probability that a link breaks instead of carrying a frame.
    public var breakProbability = 0.0
    /// The probability that only part of a frame arrives, and the link breaks with it.
    public var truncationProbability = 0.0
    /// The probability that one bit of a frame arrives wrong, which only a hostile peer can do.
    public var bitFlipProbability = 0.0
    /// The probability that an attempt to connect fails.
    public var refusalProbability = 0.0

    /// Creates the conditions of a reliable local network.
    public init() {}

    /// A reliable local network: 1 to 10 ms, nothing breaks.
    public static let reliable = NetworkConditions()

    /// A mobile network: 20 to 400 ms, 100 kB/s, and one frame in a hundred breaks its link.
    public static var mobile: NetworkConditions {
        var conditions = NetworkConditions()
        conditions.minimumDelay = .milliseconds(20)
        conditions.maximumDelay = .milliseconds(400)
        conditions.bytesPerSecond = 100_000
        conditions.breakProbability = 0.01
        conditions.truncationProbability = 0.002
        conditions.refusalProbability = 0.1
        return conditions
    }
}

/// What a simulated network has carried.
public struct NetworkTraffic: Sendable, Hashable {
    /// Frames that arrived.
    public var frameCount = 0
    /// Their bytes.
    public var byteCount = 0
    /// Frames that carry interests, comparisons, documents or totals: not greetings, acknowledgements, signs of life or
    /// news of presence.
    public var dataFrameCount = 0
    /// Links that were opened.
    public var linkCount = 0
    /// Links that broke.
    public var brokenLinkCount = 0
    /// The most bytes that waited on one link.
    public var largestQueueByteCount = 0
}
