// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The parser for answers of version 2: `code`, and under `data` one element for each name, with an object for each family.
enum AlibabaV2Answer {
    /// The reason for missing addresses which means that the name does not exist. Every other reason, and none, means "no
    /// data": the full list of reasons is not published.
    private static let noSuchName = "DomainNotExist"

    /// Returns the answers in a body for the names of the query.
    /// - Parameter payload: The encryption of the query; the answer must be encrypted in the same way.
    static func read(
        _ body: [UInt8],
        question: VendorQuery,
        payload: AlibabaV2Payload?
    ) throws(VendorAnswerError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let root = try JSONValue(objectIn: body)
        guard root["code"]?.text == "success" else { throw VendorAnswerError("its \"code\" is not \"success\"") }
        let data = try data(of: root, payload)
        guard case .array(let elements)? = data["answers"] else {
            throw VendorAnswerError("\"answers\" is \(data["answers"]?.kind ?? "missing"); it must be a list")
        }
        let asked = Set(question.hosts)
        var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
        for element in elements {
            guard let host = element["dn"]?.text.flatMap({ try? HTTPDNSName($0) }), asked.contains(host) else {
                continue
            }
            guard answers[host] == nil else { throw VendorAnswerError("it answers about one name twice") }
            if let answer = answer(element, question.families) { answers[host] = answer }
        }
        guard !answers.isEmpty else {
            throw VendorAnswerError("it says nothing about the names that were asked for")
        }
        return answers
    }

    /// Returns the object with the answers, decrypted if it was encrypted.
    private static func data(of root: JSONValue, _ payload: AlibabaV2Payload?) throws(VendorAnswerError) -> JSONValue {
        let mode: UInt16?
        switch root["mode"] {
        case nil, .null?: mode = 0
        case .string(let text)?: mode = UInt16(digits: text)
        case .some(let value): mode = value.uint16
        }
        let expected = AlibabaV2Payload.mode(payload?.encryption)
        guard mode == expected else {
            let found = mode.map { "\($0)" } ?? "no number"
            throw VendorAnswerError("its \"mode\" is \(found), and the question had \(expected)")
        }
        guard let payload else {
            guard let data = root["data"], case .object = data else {
                throw VendorAnswerError("\"data\" is \(root["data"]?.kind ?? "missing"); it must be an object")
            }
            return data
        }
        guard let text = root["data"]?.text else {
            throw VendorAnswerError("\"data\" is \(root["data"]?.kind ?? "missing"); encrypted it must be a string")
        }
        return try JSONValue(objectIn: try payload.decrypted(text))
    }

    /// Returns the answer of an element; `nil` when it has nothing about any requested family.
    private static func answer(_ element: JSONValue, _ families: HTTPDNSAddress.Families) -> HTTPDNSProviderAnswer? {
        let nodes = [(HTTPDNSAddress.Family.v4, "v4"), (.v6, "v6")]
            .filter { families.contains($0.0) }
            .map { family, key in (family: family, node: element[key].flatMap(object)) }
        guard nodes.contains(where: { $0.node != nil }) else { return nil }
        var answer = HTTPDNSProviderAnswer()
        for (family, node) in nodes { answer[family] = outcome(family, node) }
        guard nodes.contains(where: { answer[$0.family]?.isNegative == false }) else { return answer }
        // A name with addresses of one family exists, whatever the other family reports.
        for (family, _) in nodes {
            if case .nameError(let life)? = answer[family] { answer[family] = .noData(timeToLive: life) }
        }
        return answer
    }

    private static func outcome(_ family: HTTPDNSAddress.Family, _ node: JSONValue?) -> HTTPDNSProviderAnswer.Family {
        // The vendor omits a family that was not requested. A requested family that is missing has no data, for a short time.
        guard let node else { return .noData(timeToLive: nil) }
        let seconds = node["ttl"]?.finiteNumber
        let outcome = HTTPDNSProviderAnswer.Family(family, list: node["ips"]?.texts ?? [], seconds: seconds)
        if case .noData(let life) = outcome, node["no_ip_code"]?.text == noSuchName {
            return .nameError(timeToLive: life)
        }
        return outcome
    }

    private static func object(_ value: JSONValue) -> JSONValue? {
        if case .object = value { value } else { nil }
    }
}
