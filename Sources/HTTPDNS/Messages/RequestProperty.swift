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

extension HTTPDNSClient.Request {
    /// The value of a property; nil for none.
    public subscript<Property: HTTPDNSClient.RequestProperty>(property: Property.Type) -> Property.Value? {
        get { own?.properties[ObjectIdentifier(property)]?.value as? Property.Value }
        set {
            changeOwn { own in
                own.properties[ObjectIdentifier(property)] = newValue.map { value in
                    StoredProperty(value: value, followsRedirects: property.followsRedirects)
                }
            }
        }
    }

    /// Removes the properties that do not follow redirects.
    mutating func removePropertiesOfHop() {
        guard let own, own.properties.contains(where: { !$0.value.followsRedirects }) else { return }
        changeOwn { own in own.properties = own.properties.filter(\.value.followsRedirects) }
    }
}

/// The value of a property, whose type is that of its key.
struct StoredProperty: Sendable {
    let value: any Sendable
    let followsRedirects: Bool
}
