internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// What a vendor's lists of addresses come to.
enum VendorAnswer {
    /// The life of addresses without a time to live, or with one of 0 or less: what Alibaba's Android and Go clients take.
    static let defaultLife = Duration.seconds(60)
    /// The longest life of an absence. Names are missing at a vendor because nobody has entered them yet, and then because
    /// somebody has.
    static let longestAbsence = Duration.seconds(60)

    /// The outcome for a family that was asked for.
    /// - Parameters:
    ///   - texts: Its addresses as the vendor wrote them. What is no address of the family is left out.
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

    /// More addresses of a family than this are not read: nobody uses them, and a list could hold thousands.
    private static let maximumAddresses = DNSResponse.maximumAddresses

    /// The JSON object that a body is.
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

/// Why the body of a vendor's answer is not used, without a part of it.
package struct VendorAnswerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line, in the words of this package alone.
    package let description: String
    /// Whether the body is text of the vendor's form at all.
    package let isText: Bool

    init(_ description: String, isText: Bool = true) {
        self.description = description
        self.isText = isText
    }
}

extension ServiceReply {
    /// An error about the body, with a hint where the body is something else altogether.
    func badResponse(_ error: VendorAnswerError) -> HTTPDNSProviderError {
        badResponse("answer refused: \(error)\(error.isText ? "" : " (\(contentTypeHint))")")
    }
}

extension HTTPDNSProviderAnswer {
    /// The first failure, when no family that was asked for has an outcome of its own.
    var failure: HTTPDNSProviderError? {
        let outcomes = [v4, v6].compactMap { $0 }
        let failures = outcomes.compactMap { outcome -> HTTPDNSProviderError? in
            if case .failed(let error) = outcome { error } else { nil }
        }
        return failures.count == outcomes.count ? failures.first : nil
    }
}

extension JSONValue {
    /// The number; nil when this is none, or not a finite one.
    var finiteNumber: Double? {
        guard case .number(let number) = self, number.isFinite else { return nil }
        return number
    }

    /// The texts of a list; what is no text in it is left out. Nil when this is no list.
    var texts: [String]? {
        guard case .array(let elements) = self else { return nil }
        return elements.compactMap(\.text)
    }
}
