/// A test server or tool that did not do its part. It is the rig's failure, not the tested code's.
public struct RigError: Error, Sendable, CustomStringConvertible {
    /// What was waited for and what was seen instead.
    public let description: String

    init(_ description: String) { self.description = description }
}
