// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Foundation
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// DNS messages over HTTP (RFC 8484).
struct WireDNS: ServedProtocol {
    static let mediaType = "application/dns-message"

    let name = "doh"

    func reply(to request: ServedRequest, _ inquiry: inout ServedQuery) throws(Refusal) -> ServedReply {
        let query = try ReceivedQuery(served: try Self.message(in: request))
        inquiry.record.families = "\(query.question.type)"
        guard let host = query.question.name.hostName else {
            return Self.reply(query.response(.nameError), timeToLive: nil)
        }
        let families = query.question.type.families
        do throws(Refusal) {
            guard let answer = try inquiry.answers(about: [host], families).first else {
                throw Refusal(.internalError, "")
            }
            inquiry.record.families = "\(query.question.type)"
            return Self.reply(
                query.response(answer),
                timeToLive: answer.addresses(query.question.type).isEmpty ? answer.absence : answer.timeToLive
            )
        } catch {
            switch error.code {
            case .serverFailure?: return Self.reply(query.response(.serverFailure), timeToLive: nil)
            case .refused?: return Self.reply(query.response(.refused), timeToLive: nil)
            default: throw error
            }
        }
    }

    private static func reply(_ message: [UInt8], timeToLive: Int?) -> ServedReply {
        var reply = ServedReply(contentType: mediaType, body: message)
        // An HTTP cache must not keep it longer than the time to live of its records (RFC 8484 section 5.1).
        reply.headerFields[.cacheControl] = timeToLive.map { "max-age=\($0)" } ?? "no-store"
        return reply
    }

    private static func message(in request: ServedRequest) throws(Refusal) -> [UInt8] {
        switch request.method {
        case .get:
            let text = try QueryParameters(request.query).required("dns")
            guard let message = octets(ofBase64URL: text) else {
                throw Refusal(.missingArgument, "dns is not base64url without padding (RFC 8484 section 4.1)")
            }
            return message
        case .post:
            guard request.headerFields[.contentType] == mediaType else {
                var refusal = Refusal(.missingArgument, "a POST has the content type \(mediaType)")
                refusal.status = 415
                throw refusal
            }
            return request.body
        default: throw Refusal(.methodNotAllowed, "the methods are GET and POST")
        }
    }

    private static func octets(ofBase64URL text: String) -> [UInt8]? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain + padding).map(Array.init)
    }
}

extension DNSRecordType {
    /// The families of a question for records of the type.
    var families: HTTPDNSAddress.Families {
        switch self {
        case .a: .v4
        case .aaaa: .v6
        default: []
        }
    }
}

extension ReceivedQuery {
    fileprivate init(served message: [UInt8]) throws(Refusal) {
        do throws(DNSMessageError) {
            try self.init(message)
        } catch {
            throw Refusal(.missingArgument, "the DNS message cannot be read: \(error.reason)")
        }
        guard recordClass == DNSWireFormat.internetClass else {
            throw Refusal(.missingArgument, "the DNS message cannot be read: it asks for another class than IN")
        }
    }

    /// Returns the aliases in their order, followed by the addresses; without an address the lifetime of its absence.
    fileprivate func response(_ answer: ZoneAnswer) -> [UInt8] {
        var owner: DNSName?
        var records: [[UInt8]] = []
        for alias in answer.aliases {
            let target = DNSName(alias)
            records.append(Self.record(.cname, of: owner, timeToLive: answer.timeToLive, target.octets))
            owner = target
        }
        let addresses = answer.addresses(question.type)
        records += addresses.map {
            Self.record(question.type, of: owner, timeToLive: answer.timeToLive, $0.bytes)
        }
        return response(
            answer.exists ? .noError : .nameError,
            answers: records,
            authority: addresses.isEmpty ? [Self.startOfAuthority(of: owner, timeToLive: answer.absence)] : []
        )
    }
}
#endif
