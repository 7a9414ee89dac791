// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The conversion of a vendor's lists of addresses into outcomes.
enum VendorAnswer {
    /// The life of addresses without a time to live, or with one of 0 or less, as in Alibaba's Android and Go clients.
    static let defaultLife = Duration.seconds(60)
    /// The longest life of a negative answer. A name missing at a vendor is usually a name not entered yet, and may be
    /// entered at any time.
    static let longestAbsence = Duration.seconds(60)

    /// Returns the outcome for a requested family.
    /// - Parameters:
    ///   - texts: Its addresses as the vendor wrote them. Texts that are not addresses of the family are ignored.
    ///   - seconds: The vendor's time to live.
    static func family(_ family: HTTPDNSAddress.Family, _ texts: [String], seconds: Double?)
        -> HTTPDNSProviderAnswer.Family
    {
        var addresses: [HTTPDNSAddress] = []
        for address in texts.compactMap({ HTTPDNSAddress($0) })
        where address.family == family && !addresses.contains(address) && addresses.count < maximumAddresses {
            addresses.append(address)
        }
        if !addresses.isEmpty { return .addresses(addresses, timeToLive: life(seconds), canonicalName: nil) }
        guard texts.isEmpty else {
            let message = "its list for \(family.recordType) has no address of that family"
            return .failed(HTTPDNSProviderError(code: .badResponse, message: message))
        }
        return .noData(timeToLive: absence(seconds))
    }

    /// The maximum number of addresses read for a family: more are never used, and a list could have thousands.
    private static let maximumAddresses = DNSResponse.maximumAddresses

    /// Returns the JSON object in a body.
    static func object(_ body: [UInt8]) throws(VendorAnswerError) -> JSONValue {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONReader.read(body)
        } catch {
            throw VendorAnswerError(error.description, isText: false)
        }
        guard case .object = root else { throw VendorAnswerError("it is \(root.kind), and no object") }
        return root
    }

    static func life(_ seconds: Double?) -> Duration {
        guard let seconds, seconds >= 1 else { return defaultLife }
        return .seconds(Int64(min(seconds, Double(UInt32.max))))
    }

    static func absence(_ seconds: Double?) -> Duration { min(life(seconds), longestAbsence) }
}

/// The reason why the body of a vendor's answer is rejected. It contains no part of the body.
package struct VendorAnswerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason in one line, without text from the body.
    package let description: String
    /// Whether the body is text in the vendor's form at all.
    package let isText: Bool

    init(_ description: String, isText: Bool = true) {
        self.description = description
        self.isText = isText
    }
}

extension UpstreamReply {
    /// Returns an error about the body, with a hint when the body is of another kind.
    func badResponse(_ error: VendorAnswerError) -> HTTPDNSProviderError {
        badResponse("answer refused: \(error)\(error.isText ? "" : " (\(contentTypeHint))")")
    }
}

extension HTTPDNSProviderAnswer {
    /// The first failure, when no requested family has an outcome of its own.
    var failure: HTTPDNSProviderError? {
        let outcomes = [v4, v6].compactMap { $0 }
        let failures = outcomes.compactMap { outcome -> HTTPDNSProviderError? in
            if case .failed(let error) = outcome { error } else { nil }
        }
        return failures.count == outcomes.count ? failures.first : nil
    }
}

extension JSONValue {
    /// The number; `nil` when the value is not a number, or not a finite one.
    var finiteNumber: Double? {
        guard case .number(let number) = self, number.isFinite else { return nil }
        return number
    }

    /// The texts of a list, without its other elements; `nil` when the value is not a list.
    var texts: [String]? {
        guard case .array(let elements) = self else { return nil }
        return elements.compactMap(\.text)
    }
}
