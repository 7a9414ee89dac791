// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSClient {
    /// A key of a property that accompanies a request through the interceptors and never reaches the wire.
    ///
    /// ```swift
    /// /// The name of the job that a request belongs to.
    /// enum JobName: HTTPDNSClient.RequestProperty {
    ///     typealias Value = String
    /// }
    /// ```
    ///
    /// The property belongs to the request as a value: a copy has it, and a change of the copy does not change the original.
    /// So a property that the caller or an application interceptor sets is on every hop of the call, after retries,
    /// repetitions with a credential and redirects. One that a network interceptor sets is seen by the interceptors inside
    /// it, and not by the next hop. Calls that an interceptor makes have only their own properties.
    public protocol RequestProperty {
        /// The type of the value.
        associatedtype Value: Sendable

        /// Whether the property is kept when a redirect is followed. It is by default.
        static var followsRedirects: Bool { get }
    }
}

extension HTTPDNSClient.RequestProperty {
    /// True.
    public static var followsRedirects: Bool { true }
}

/// The value of a property, whose type is that of its key.
struct StoredProperty: Sendable {
    let value: any Sendable
    let followsRedirects: Bool
}
