internal import HTTPDNSCurl

/// A setting that requests and clients have: that of a request may stand for the client's.
///
/// A value with a mark and not an `Optional`: with an `Optional`, `options.redirects = .none` compiles, looks like "off", and
/// means "as the client does".
protocol Inheritable: Equatable {
    /// Whether it stands for the setting of the client.
    var isInherited: Bool { get }
}

extension Inheritable {
    /// The setting in force: itself, or that of the client.
    func inheriting(from client: @autoclosure () -> Self) -> Self { isInherited ? client() : self }

    /// Refuses a changed copy of `.inherited`. Its other values would take effect or be lost, and the caller means one of
    /// both.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validateUnchanged(_ name: String, _ inherited: Self, begin: String) throws(HTTPDNSClientError) {
        guard self != inherited else { return }
        throw .configuration(
            "\(name) is a changed copy of .inherited, which stands for the client's policy as a whole",
            hint: "begin with \(begin), set all that differs from it, and assign the result to options.\(name)"
        )
    }
}

extension HTTPDNSClient.RedirectPolicy: Inheritable {}
extension HTTPDNSClient.RetryPolicy: Inheritable {}
extension HTTPDNSClient.AllowedVersions: Inheritable {}
extension HTTPDNSClient.ByteLimit: Inheritable {}
extension HTTPDNSClient.TimeLimit: Inheritable {}
extension HTTPDNSClient.Proxy.Rules: Inheritable {
    var isInherited: Bool { content == .inherited }
}

extension HTTPDNSClientError {
    /// A client's own setting that is `.inherited`.
    static func inheritedInSettings(_ name: String, instead: String) -> HTTPDNSClientError {
        .configuration(
            "\(name) is .inherited, and the settings of a client inherit from nothing",
            hint: "\(instead); .inherited is for the options of a request"
        )
    }
}
