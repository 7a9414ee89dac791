// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

extension HTTPDNSProviderAnswer.Family {
    /// The life of addresses without a time to live, or with one of 0 or less, as in Alibaba's Android and Go clients.
    static let defaultLife = Duration.seconds(60)
    /// The longest life of a negative answer. A name missing at a vendor is usually a name not entered yet, and may be
    /// entered at any time.
    static let longestAbsence = Duration.seconds(60)

    /// Creates the outcome for a requested family from a vendor's list.
    /// - Parameters:
    ///   - texts: Its addresses as the vendor wrote them. Texts that are not addresses of the family are ignored.
    ///   - seconds: The vendor's time to live.
    init(_ family: HTTPDNSAddress.Family, list texts: [String], seconds: Double?) {
        var addresses: [HTTPDNSAddress] = []
        // More are never used, and a list could have thousands.
        for address in texts.compactMap({ HTTPDNSAddress($0) })
        where address.family == family && !addresses.contains(address)
            && addresses.count < DNSResponse.maximumAddresses
        {
            addresses.append(address)
        }
        var life = Self.defaultLife
        if let seconds, seconds >= 1 { life = .seconds(Int64(min(seconds, Double(UInt32.max)))) }
        if !addresses.isEmpty {
            self = .addresses(addresses, timeToLive: life, canonicalName: nil)
        } else if texts.isEmpty {
            self = .noData(timeToLive: min(life, Self.longestAbsence))
        } else {
            let message = "its list for \(family.recordType) has no address of that family"
            self = .failed(HTTPDNSProviderError(code: .badResponse, message: message))
        }
    }
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
        let failures = outcomes.compactMap(\.error)
        return failures.count == outcomes.count ? failures.first : nil
    }
}

extension JSONValue {
    /// Reads the JSON object in a vendor's body.
    init(objectIn body: [UInt8]) throws(VendorAnswerError) {
        do throws(JSONError) {
            self = try JSONReader.read(body)
        } catch {
            throw VendorAnswerError(error.description, isText: false)
        }
        guard case .object = self else { throw VendorAnswerError("it is \(kind), and no object") }
    }

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
