// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A setting that requests and clients both have: a request can inherit the client's.
///
/// `.inherited` is a value and not an `Optional`: with an `Optional`, `options.redirects = .none` compiles, looks like
/// "off", and means "as the client does".
protocol Inheritable: Equatable {
    /// Whether the setting is inherited from the client.
    var isInherited: Bool { get }
}

extension Inheritable {
    /// Returns the setting in force: this one, or the client's if it is inherited.
    func inheriting(from client: @autoclosure () -> Self) -> Self { isInherited ? client() : self }

    /// Refuses a changed copy of `.inherited`. Its changed values would either take effect or be ignored, and the
    /// caller's intent is unclear.
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
    /// Returns the error for a client's own setting that is `.inherited`.
    static func inheritedInSettings(_ name: String, instead: String) -> HTTPDNSClientError {
        .configuration(
            "\(name) is .inherited, and the settings of a client inherit from nothing",
            hint: "\(instead); .inherited is for the options of a request"
        )
    }
}

extension HTTPDNSClient.RedirectPolicy {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        if isInherited { throw .inheritedInSettings("redirects", instead: "RedirectPolicy() is the default") }
        guard (0...100).contains(limit) else {
            throw .configuration("redirects.limit is \(limit)", hint: "0 to 100; 20 suits nearly everybody")
        }
    }
}

extension HTTPDNSClient.RetryPolicy {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        if isInherited { throw .inheritedInSettings("retries", instead: ".off is the default") }
        guard (0...100).contains(limit) else {
            throw .configuration("retries.limit is \(limit)", hint: "0 to 100")
        }
        for (name, value) in [
            ("delay", delay), ("maximumDelay", maximumDelay), ("maximumRetryAfter", maximumRetryAfter),
            ("networkWait", networkWait),
        ]
        where value < .zero {
            throw .configuration("retries.\(name) is \(value.shortText)", hint: "zero is the least")
        }
    }
}

extension HTTPDNSClient.RetryPolicy.Budget {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        for (name, value, range) in [("percent", percent, 0...1000), ("perSecond", perSecond, 0...100_000)]
        where !range.contains(value) {
            throw .configuration("retryBudget.\(name) is \(value)", hint: "\(range.lowerBound) to \(range.upperBound)")
        }
    }
}
