extension DocDBError.Code {
    /// A token is malformed, is not signed as it must be, or is meant for somebody else.
    public static let invalidToken = Self("invalidToken")
    /// A token has expired, or is not valid yet.
    public static let tokenExpired = Self("tokenExpired")
    /// A provider refused the login; the context's `reason` is the provider's word where it gave one.
    public static let authenticationFailed = Self("authenticationFailed")
    /// A provider, or the server of its keys, cannot be reached or gives answers that make no sense.
    public static let providerUnavailable = Self("providerUnavailable")
    /// Permissions are contradictory, have wrong types, do not parse, or need a claim that is absent.
    public static let invalidPermissions = Self("invalidPermissions")
    /// A configuration file has wrong types, unknown providers or values out of range.
    public static let invalidConfiguration = Self("invalidConfiguration")
    /// A key is too weak, is malformed, or is of a kind that is not supported.
    public static let invalidKey = Self("invalidKey")
    /// A grant, a hub's certificate or a revocation is not what it must be, or is not this peer's.
    public static let invalidGrant = Self("invalidGrant")
    /// A grant has expired; a new login gives another.
    public static let grantExpired = Self("grantExpired")
    /// A grant has been revoked.
    public static let grantRevoked = Self("grantRevoked")
    /// A grant is older than one that this peer has seen of the same user.
    public static let grantSuperseded = Self("grantSuperseded")
    /// Somebody else logs in than the user whose documents the database holds.
    public static let anotherUser = Self("anotherUser")
    /// A peer did not prove that it holds its key.
    public static let proofFailed = Self("proofFailed")
}
