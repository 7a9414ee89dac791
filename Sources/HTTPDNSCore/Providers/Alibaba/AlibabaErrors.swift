/// The error codes of Alibaba's HTTPDNS, for both versions and `/ss`. Sources: the vendor's documents and its Android client.
enum AlibabaErrors {
    static let words = VendorVocabulary(
        service: "Alibaba HTTPDNS service",
        answer: "answer of Alibaba HTTPDNS",
        mediaType: "application/json",
        methodAdvice: "check that the url is that of Alibaba HTTPDNS"
    )

    static let table = VendorErrorTable(
        rows: [
            "InvalidAccount": .init(.account, "the account is wrong, or has no domain in the vendor's console"),
            "AccountNotExists": .init(.account, "there is no such account"),
            "UnsignedInterfaceDisabled": .init(
                .account,
                "the account takes signed queries alone; give its secret, or allow unsigned ones in the vendor's console"
            ),
            "InvalidSignature": .init(.account, "the signature is wrong; check the secret"),
            "SignatureExpired": .init(.clock, "the signature is out of its time; check the clock of this machine"),
            "InvalidDuration": .init(
                .clock,
                "the signature is good for longer than the service allows; check the clock of this machine"
            ),
            "InvalidHost": .init(.question, "the service takes no such name"),
            "TooManyHosts": .init(.question, "the service takes fewer names at once"),
            "SdnsNotSupported": .init(.question, "the region has no custom resolution; take its parameters out"),
            "InvalidIP": .init(.question, "the service does not take the client subnet"),
            "InvalidQuery": .init(.question, "the service does not take the families"),
            "UnsupportedType": .init(.question, "the service does not take the families"),
            "MethodNotAllowed": .init(.question, "the service does not take GET; check the url"),
            "MissingArgument": .init(.nextAddress, "the service misses a parameter"),
            "ServiceLevelDeny": .init(.address, "this address does not serve the account"),
            "InternalError": .init(.address, "the service failed"),
        ],
        words: words
    )

    /// Returns the refusal in a reply, by its status and the code in its body.
    static func refusal(in reply: UpstreamReply) -> VendorRefusal? {
        let code = (try? JSONReader.read(reply.body))?["code"]?.text
        return table.refusal(code: code == "success" ? nil : code, in: reply)
    }
}
