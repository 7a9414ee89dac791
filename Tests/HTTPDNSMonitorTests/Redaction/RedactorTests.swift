// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct RedactorTests {
    private static let redactor = HTTPDNSClient.Redaction.standard

    /// A text and its redacted form.
    struct Sample: Sendable, CustomTestStringConvertible {
        var text: String
        var expected: String
        var testDescription: String { text }

        init(_ text: String, _ expected: String? = nil) {
            self.text = text
            self.expected = expected ?? text
        }
    }

    /// A JSON Web Token.
    private static let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"

    private static let urls = [
        Sample("https://one.test/a?b=c&d"),
        Sample("https://one.test/?"),
        Sample("https://user:pass@one.test/a#token=x", "https://one.test/a"),
        Sample("https://one.test/?token=x&b=c", "https://one.test/?token=(redacted)&b=c"),
        Sample("https://one.test/?a=b&X-Amz-Signature=x", "https://one.test/?a=b&X-Amz-Signature=(redacted)"),
        Sample("https://one.test/?refresh%5Ftoken=x,y;z", "https://one.test/?refresh%5Ftoken=(redacted)"),
        Sample("https://one.test/?user[password]=x", "https://one.test/?user[password]=(redacted)"),
        Sample("https://one.test/?q=token&monkey=1"),
        Sample(
            "https://one.test/?next=https%3A%2F%2Ftwo.test%2F%3Faccess_token%3Dx&b=c",
            "https://one.test/?next=(redacted)&b=c"
        ),
        Sample("https://one.test/?j=%7B%22password%22%3A%22x%22%7D", "https://one.test/?j=(redacted)"),
        Sample("https://one.test/a;jsessionid=x/b;v=1?c=d", "https://one.test/a;jsessionid=(redacted)/b;v=1?c=d"),
        Sample("https://one.test:99999/?token=x", "https://one.test:99999/"),
        Sample("https://one.test/?next=%252F%252Fu%253Ap%2540two.test%252F&b", "https://one.test/?next=(redacted)&b"),
        Sample("https://one.test/?to%256Ben=x&a=%2541", "https://one.test/?to%256Ben=(redacted)&a=%2541"),
        Sample("https://one.test/?x=a%7B%22password%22:1%7D&b", "https://one.test/?x=(redacted)&b"),
        Sample("https://one.test/?b=c&token%3Dx", "https://one.test/?b=c&(redacted)"),
        // Tokens in paths.
        Sample("https://one.test/bcdn_token=x/a.m3u8", "https://one.test/bcdn_token=(redacted)/a.m3u8"),
        Sample("https://one.test/bcdn_token=x&expires=1/a?b=c", "https://one.test/bcdn_token=(redacted)/a?b=c"),
        Sample("https://one.test/bcdn_token%3Dx/a.m3u8", "https://one.test/(redacted)/a.m3u8"),
        Sample("https://one.test/hdntl=exp=1~acl=/*~hmac=x/a", "https://one.test/hdntl=(redacted)/*~hmac=(redacted)/a"),
        Sample("https://one.test/reset/\(token)?a", "https://one.test/reset/(redacted)?a"),
        Sample("https://one.test/v=1/a=b/100%25/c"),
        // GraphQL, and values.
        Sample("https://one.test/?query={login(password:%22x%22){id}}", "https://one.test/?query=(redacted)"),
        Sample("https://one.test/?query=%7Blogin(pin%3A1234)%7Bid%7D%7D", "https://one.test/?query=(redacted)"),
        Sample("https://one.test/?query=%7Bitems(first%3A10)%7Bid%7D%7D"),
        Sample("https://one.test/?a=\(token)&b", "https://one.test/?a=(redacted)&b"),
        Sample("https://one.test/?a=Bearer+x&b", "https://one.test/?a=(redacted)&b"),
        Sample("https://one.test/?q=bearer&v=1.2.3&d=eyJ"),
    ]

    @Test("Secrets of URLs are replaced, and everything else stays", arguments: urls)
    func url(_ sample: Sample) {
        #expect(Self.redactor.url(HopTarget(sample.text, nil).url, sample.text) == sample.expected)
    }

    private static let jsons = [
        Sample("{\"a\": [1, {\"b\": \"c=d\"}], \"e\": null}"),
        Sample("{\"password\": \"x\", \"b\": 1}", "{\"password\": \"(redacted)\", \"b\": 1}"),
        Sample(
            "{\"a\":{\"Refresh-Token\":{\"x\":[1,\"}\"]}},\"b\":1}",
            "{\"a\":{\"Refresh-Token\":\"(redacted)\"},\"b\":1}"
        ),
        Sample("{\"pin\":1234,\"b\":true}", "{\"pin\":\"(redacted)\",\"b\":true}"),
        Sample("{\"pass\\u0077ord\":\"x\\\"y\"}", "{\"pass\\u0077ord\":\"(redacted)\"}"),
        // Cut or broken texts.
        Sample("{\"a\":1,\"secret\":\"xy", "{\"a\":1,\"secret\":\"(redacted)\""),
        Sample("{\"secret\":[1,2", "{\"secret\":\"(redacted)\""),
        Sample("{\"a\":\"b\\", "{\"a\":\"b\\"),
        Sample("{\"secret\"", "{\"secret\""),
        Sample("{\"secret\":", "{\"secret\":"),
        // Texts inside strings.
        Sample("[\"https://u:p@one.test/?sig=x\\u0026b=c\"]", "[\"https://one.test/?sig=(redacted)&b=c\"]"),
        Sample("{\"a\":\"{\\\"otp\\\": 12}\"}", "{\"a\":\"{\\\"otp\\\": \\\"(redacted)\\\"}\"}"),
        Sample("{\"a\":1}\n{\"jwt\":\"x\"}\n", "{\"a\":1}\n{\"jwt\":\"(redacted)\"}\n"),
        Sample(
            #"{"query":"{login(password:\"x\",pin:1234){id}}"}"#,
            #"{"query":"{login(password:\"(redacted)\",pin:(redacted)){id}}"}"#
        ),
        Sample(#"{"query":"mutation($p:String!){login(password:$p){token}}"}"#),
        Sample(#"{"query":"query($token:[ID!]){a(token:$token){b}}"}"#),
        // Names and values in pairs.
        Sample(#"[{"name":"password","value":"x"}]"#, #"[{"name":"password","value":"(redacted)"}]"#),
        Sample(
            #"{"value": "x", "type": 1, "key": "Authorization"}"#,
            #"{"value": "(redacted)", "type": 1, "key": "Authorization"}"#
        ),
        Sample(#"{"Name":"DB_PASSWORD","Value":{"a":["x"]}}"#, #"{"Name":"DB_PASSWORD","Value":"(redacted)"}"#),
        Sample(#"{"value":{"name":"a","value":1},"name":"pin"}"#, #"{"value":"(redacted)","name":"pin"}"#),
        Sample(#"[["X-Api-Key","x"],["Accept","y"]]"#, #"[["X-Api-Key","(redacted)"],["Accept","y"]]"#),
        Sample(#"{"required":["password","name"],"name":"a","value":"b"}"#),
        Sample(#"[{"name":"color","value":"red"},{"key":"size"}]"#),
        // Values that are no secrets.
        Sample(#"{"password":true,"session":null,"token":"","max_tokens":100}"#),
    ]

    @Test("Secret members of JSON are replaced at any depth, also in cut texts", arguments: jsons)
    func json(_ sample: Sample) {
        #expect(Self.redactor.body(sample.text, mediaType: "application/problem+json") == sample.expected)
    }

    @Test("JSON is found without a media type, and nested texts beyond a depth are replaced")
    func depth() {
        #expect(Self.redactor.body(" {\"otp\":1}", mediaType: "") == " {\"otp\":\"(redacted)\"}")
        var text = "{\"otp\":1}"
        for _ in 0..<8 {
            let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            text = "{\"a\":\"\(escaped)\"}"
        }
        let redacted = Self.redactor.body(text, mediaType: "application/json")
        #expect(redacted?.contains("otp") == false && redacted?.contains("(redacted)") == true)
    }

    private static let texts = [
        Sample("no value = here, a: b, 12:30, C++ = 1"),
        Sample("token=\"abc\" d", "token=\"(redacted)\" d"),
        Sample("token='a b' c", "token='(redacted)' c"),
        Sample("token= abc d", "token= (redacted) d"),
        Sample("password = x", "password = (redacted)"),
        Sample("password\t=\t\"x\"", "password\t=\t\"(redacted)\""),
        Sample("token=\"b\\\"c\" d", "token=\"(redacted)\" d"),
        Sample("\"token=\\\"a b\\\" c\"", "\"token=\\\"(redacted)\\\" c\""),
        Sample("token=\"cut", "token=\"(redacted)"),
        Sample("//u:p@one.test/a", "//one.test/a"),
        Sample("{\"a\": {\"password\": \"x\"}, \"b\": 1}", "{\"a\": {\"password\": \"(redacted)\"}, \"b\": 1}"),
        Sample(
            "/login?next=https%3A%2F%2Fu%3Ap%40two.test%2F%3Faccess_token%3Dx&a=b",
            "/login?next=(redacted)&a=b"
        ),
        Sample("/login?next=https%3A%2F%2Fu%3Ap%40two.test%2F c", "/login?next=(redacted) c"),
        Sample("/login?next=https%253A%252F%252Ftwo.test%252F%253Faccess_token%253Dx", "/login?next=(redacted)"),
        Sample("/login?next=https%3A%2F%2Ftwo.test%2Fa%3Fb%3Dc"),
        // More layers than are read.
        Sample("/login?next=%2525252541", "/login?next=(redacted)"),
        Sample(
            "<https://one.test/?access_token=x&page=2>; rel=\"next\"",
            "<https://one.test/?access_token=(redacted)&page=2>; rel=\"next\""
        ),
        Sample("see https://u:p@one.test/ or mail a@b.test", "see https://one.test/ or mail a@b.test"),
        Sample("/b?token=x", "/b?token=(redacted)"),
        Sample("Bearer x", "Bearer (redacted)"),
        Sample("a bearer abcdefgh1 b", "a bearer (redacted) b"),
        Sample("Basic dXNlcjpwYXNz", "Basic (redacted)"),
        Sample("see Basic YTpi, too", "see Basic (redacted), too"),
        Sample("Token 0123456789abcdef", "Token (redacted)"),
        Sample(token, "(redacted)"),
        Sample("at \(token).", "at (redacted)."),
        Sample("AKIAIOSFODNN7EXAMPLE", "(redacted)"),
        Sample("x ghp_0123456789abcdefghij y", "x (redacted) y"),
        Sample("github_pat_0123456789_abc", "(redacted)"),
        Sample("xoxb-1234567890-abc", "(redacted)"),
        Sample("sk_live_0123456789", "(redacted)"),
        Sample("Bearer realm=\"a\", error=\"invalid\""), Sample("Basic realm=\"token\""),
        Sample("the bearer of bad news, basic authentication, a token ring"),
        Sample("W/\"eyJ\", sk-a, ghp_, task-1234, AKIA, 1.2.3"),
        Sample("text/html; charset=utf-8"), Sample("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"),
    ]

    @Test("Secrets in header values and free texts are replaced", arguments: texts)
    func text(_ sample: Sample) throws {
        #expect(Self.redactor.text(sample.text) == sample.expected)
        let name = try #require(HTTPField.Name("X-Any"))
        #expect(Self.redactor.fields([name: sample.text])[name] == sample.expected)
    }

    @Test("A value that is no secret elsewhere is one under the name of a secret")
    func sameValue() throws {
        var redaction = HTTPDNSClient.Redaction.standard
        let (any, key) = (try #require(HTTPField.Name("X-Any")), try #require(HTTPField.Name("X-Api-Key")))
        for _ in 0..<2 {
            #expect(redaction.fields([any: "abc/1"])[any] == "abc/1")
            #expect(redaction.fields([key: "abc/1"])[key] == HTTPDNSClient.Redaction.mark)
            #expect(redaction.fields([any: "token=x"])[any] == "token=(redacted)")
            #expect(redaction.fields([any: "abc/1#x"])[any] == "abc/1#x")
            #expect(redaction.fields([.location: "abc/1#x"])[.location] == "abc/1")
            var unlisted = HTTPField(name: any, value: "abc/1")
            unlisted.indexingStrategy = .disallow
            #expect(redaction.fields(HTTPFields([unlisted]))[any] == HTTPDNSClient.Redaction.mark)
        }
        redaction.isOn = false
        #expect(redaction.fields([any: "token=y"])[any] == "token=y")
        redaction.isOn = true
        #expect(redaction.fields([any: "token=y"])[any] == "token=(redacted)")
        redaction.names = ["none"]
        #expect(redaction.fields([any: "token=y"])[any] == "token=y")
        redaction.names = ["token"]
        #expect(redaction.fields([any: "token=y"])[any] == "token=(redacted)")
    }

    /// The values are in ISO-8859-1, of which these bytes are no UTF-8.
    @Test("The bytes of a header value outside its secrets stay")
    func fieldBytes() throws {
        let name = try #require(HTTPField.Name("X-Any"))
        func value(_ secret: String) -> [UInt8] { [0xe4, 0x20] + Array("token=\"\(secret)\" d ".utf8) + [0xfc] }
        var fields = HTTPFields()
        fields.append(HTTPField(name: name, value: value("x")))
        let redacted = try #require(Self.redactor.fields(fields).first)
        #expect(redacted.withUnsafeBytesOfValue { Array($0) } == value(HTTPDNSClient.Redaction.mark))
        #expect(HTTPArchive.Pair(redacted).isLatin1 == true)
    }

    private static let bodies = [
        Sample("see {\"password\":\"x\"} and token=y", "see {\"password\":\"(redacted)\"} and token=(redacted)"),
        Sample("{\"password\":\"x\"} token=y", "{\"password\":\"(redacted)\"} token=(redacted)"),
        Sample("[info] token=x", "[info] token=(redacted)"),
        // The number of quotation marks is odd.
        Sample("5\" {\"password\":\"x\",\"pin\":7}", "5\" {\"password\":\"(redacted)\",\"pin\":\"(redacted)\"}"),
        Sample("sent {\\\"pin\\\": 7}", "sent {\\\"pin\\\": \\\"(redacted)\\\"}"),
        Sample("{'password': 'x'}", "{'password': '(redacted)'}"),
        Sample(
            "GET / HTTP/1.1\r\nAuthorization: Bearer x\r\nHost: a\r\n",
            "GET / HTTP/1.1\r\nAuthorization: (redacted)\r\nHost: a\r\n"
        ),
        Sample("> authorization:Basic x\nb", "> authorization:(redacted)\nb"),
        Sample("12:00 Cookie: a=b; c=d\nok", "12:00 Cookie: (redacted)\nok"),
        Sample("curl -H 'X-Api-Key: x y' http://one.test/", "curl -H 'X-Api-Key: (redacted)' http://one.test/"),
        Sample("f({a:1,auth:b})"),
        Sample("{login(user:\"a\",pin:123499){id}}", "{login(user:\"a\",pin:(redacted)){id}}"),
        Sample("{login(password:\"\"\"x\"y\"\"\"){id}}", "{login(password:\"\"\"(redacted)\"\"\"){id}}"),
        Sample("f({a:1,token:abcdef})", "f({a:1,token:(redacted)})"),
        Sample("<input name=\"csrf_token\" value=\"x\">", "<input name=\"csrf_token\" value=\"(redacted)\">"),
        Sample(
            "<input value='x' type=hidden name=csrf_token/>",
            "<input value='(redacted)' type=hidden name=csrf_token/>"
        ),
        Sample("<INPUT TYPE=password VALUE=x >", "<INPUT TYPE=password VALUE=(redacted) >"),
        Sample("<meta content=\"x\" name=\"csrf-token\" />", "<meta content=\"(redacted)\" name=\"csrf-token\" />"),
        Sample("<a:Password b=\"c\">x</a:Password>", "<a:Password b=\"c\">(redacted)</a:Password>"),
        Sample("<input name=\"q\" value=\"x\"><token><a>b</a></token> 1 <b && c> 2"),
        Sample(
            "-----BEGIN PRIVATE KEY-----\nMIIx\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----(redacted)-----END PRIVATE KEY-----\n"
        ),
        Sample("-----BEGIN EC PRIVATE KEY-----\nMIIx", "-----BEGIN EC PRIVATE KEY-----(redacted)"),
        Sample("-----BEGIN CERTIFICATE-----\nMIIx\n-----END CERTIFICATE-----"),
        Sample(
            "{\"access\":\"\(token)\",\"a\":\"Bearer x\"}",
            "{\"access\":\"(redacted)\",\"a\":\"Bearer (redacted)\"}"
        ),
        Sample("{\"a\":\"Cookie: x\\nb\"}", "{\"a\":\"Cookie: (redacted)\\u000ab\"}"),
        Sample("{\"a\":\"token=b\\\"c\",\"d\":1}", "{\"a\":\"token=(redacted)\\\"c\",\"d\":1}"),
    ]

    @Test("JSON, header lines and items are found anywhere in a text", arguments: bodies)
    func body(_ sample: Sample) {
        #expect(Self.redactor.body(sample.text, mediaType: "text/plain") == sample.expected)
        #expect(Self.redactor.body(sample.expected, mediaType: "text/plain") == sample.expected)
    }

    @Test("Fragments of Location, Content-Location and Referer are not stored")
    func fragments() {
        for name in [HTTPField.Name.location, .contentLocation, .referer] {
            #expect(Self.redactor.fields([name: "/a?b=c#access_token=x"])[name] == "/a?b=c")
        }
    }

    @Test("Names that contain one of a secret are those of secrets")
    func names() {
        let names = SecretNames(HTTPDNSClient.Redaction.commonSecrets)
        for name in [
            "user[password_confirmation]", "password1", "id_token_hint", "X-Auth-Key", "X-Auth",
            "Ocp-Apim-Subscription-Key", "X-Functions-Key", "PHPSESSID", "ticket", "client_secret_2", "old-passwd-1",
        ] { #expect(names.contains(name.utf8), "\(name)") }
        for name in [
            "author", "authority", "monkey", "keyboard", "passenger", "compass", "design", "signal", "pins", "sidebar",
            "tickets", "sessions", "key", "X-Author", "a.b", "",
        ] { #expect(!names.contains(name.utf8), "\(name)") }
        let own = SecretNames(["ab*", "*cd", "*ef*"])
        #expect(["abx", "xcd", "xefx", "ef"].allSatisfy { own.contains($0.utf8) })
        #expect(["xab", "cdx", "e-x-f"].allSatisfy { !own.contains($0.utf8) })
    }

    /// The names that were redacted in all places when each place had a list of its own. A star stands for any text.
    private static let alwaysSecret: Set<String> = [
        "*accesskey", "*accesskeyid", "*apikey", "*appkey", "*assertion", "*authkey", "*authorization", "*credential",
        "*credentials", "*functionskey", "*passcode", "*passphrase", "*passwd*", "*password*", "*privatekey", "*pwd",
        "*secret*", "*sessid", "*sessionid", "*signature*", "*subscriptionkey", "*token*", "auth", "bearer",
        "codeverifier", "cookie", "csrf", "cvc", "cvv", "jwt", "otp", "pass", "pin", "samlrequest", "samlresponse",
        "session", "sid", "sig", "sign", "ticket", "xauth", "xsrf",
    ]
    private static let listsOfPlaces: [(redaction: HTTPDNSClient.Redaction, more: Set<String>)] = [
        (.standard, ["authentication-info", "proxy-authentication-info", "cookie2", "set-cookie", "set-cookie2"]),
        (HTTPDNSClient.Redaction(names: HTTPDNSClient.Redaction.standard.namesInURLs), ["code", "key"]),
    ]

    @Test("A name that was redacted in a place stays redacted there", arguments: listsOfPlaces)
    func places(redaction: HTTPDNSClient.Redaction, more: Set<String>) {
        let secrets = SecretNames(redaction.names)
        for name in (redaction == .standard ? Self.alwaysSecret : []).union(more) {
            #expect(secrets.contains(name.replacing("*", with: "x").utf8), "\(name)")
        }
        #expect(Self.alwaysSecret.isSubset(of: HTTPDNSClient.Redaction.standard.names))
    }

    private static let secretFields = [
        "Authorization", "PROXY-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token", "Private-Token",
        "X-Amz-Security-Token", "X-CSRF-Token", "X-Hub-Signature", "X-Hub-Signature-256", "Authentication-Info",
        "Api_Key",
    ]

    @Test("Secret header fields are replaced whatever their case, and others stay", arguments: secretFields)
    func fields(_ text: String) throws {
        let name = try #require(HTTPField.Name(text))
        var fields: HTTPFields = [.accept: "text/html", .eTag: "\"abc\""]
        for value in ["first", "second"] { fields.append(HTTPField(name: name, value: value)) }
        let redacted = Self.redactor.fields(fields)
        #expect(redacted[values: name] == ["(redacted)", "(redacted)"])
        #expect(redacted[.accept] == "text/html" && redacted[.eTag] == "\"abc\"")
        #expect(redacted.map(\.name.rawName) == fields.map(\.name.rawName))
    }

    @Test("Secrets of forms are replaced, and a multipart form with one is not stored")
    func forms() {
        let type = "application/x-www-form-urlencoded"
        let form = Self.redactor.body("user=a&pass%77ord=x%20y&b=c", mediaType: type)
        #expect(form == "user=a&pass%77ord=(redacted)&b=c")
        let part = "--b\r\nContent-Disposition: form-data; name=\"NAME\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n"
        func body(_ name: String) -> String? {
            Self.redactor.body(part.replacing("NAME", with: name), mediaType: "multipart/form-data")
        }
        #expect(body("user[password]") == nil && body("api-key") == nil)
        #expect(body("photo")?.contains("filename=\"a.txt\"") == true)
    }

    @Test("Names that a program adds are replaced, and names that it removes are not")
    func ownNames() {
        let redactor = HTTPDNSClient.Redaction(names: ["x-customer", "*number"])
        let url = "https://one.test/?x_customer=7&token=x&code=y"
        let expected = "https://one.test/?x_customer=(redacted)&token=x&code=(redacted)"
        #expect(redactor.url(HopTarget(url, nil).url, url) == expected)
        let json = redactor.body("{\"card_number\":1,\"password\":2}", mediaType: "application/json")
        #expect(json == "{\"card_number\":\"(redacted)\",\"password\":2}")
    }

    /// Four times the text takes four times as long, and 16 times with a quadratic scan.
    @Test("A long text is redacted in a time that grows with its length")
    func longTexts() {
        for part in [
            "%25", "a=", "\"a\":", "\"a\" : ", "\\\"", "//a", "/", "auth:", "x auth:", "'auth: x'", "token=", "[", "\n",
            "auth: (redacted)\" ", "token=(redacted) ", "= ", "\" ", "eyJ-", "eyJhbGciO.", "sk-", "Bearer ", "basic a-",
            "<a ", "<a b=\"", "<a b='c\"", "<password>", "auth:[", "auth:[\"", "password:\"\"\"",
            "-----BEGIN PRIVATE KEY-----", "%2525=", "a=%25",
            "{\"value\":", "{\"value\":1,\"name\":\"pin\"},", "[", "[[", "--a\n", "--\n\n", "/token=", "%2F",
        ] {
            let (short, long) = (Self.time(of: part, length: 1 << 12), Self.time(of: part, length: 1 << 14))
            #expect(long < short * 10, "\(part): \(short), \(long)")
        }
    }

    /// The processor time that redaction of a repeated text takes.
    private static func time(of part: String, length: Int) -> Duration {
        let text = String(repeating: part, count: length / part.utf8.count)
        let start = ProcessState.threadTime()
        for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            _ = redactor.body(text, mediaType: type)
        }
        _ = redactor.path(text)
        return ProcessState.threadTime() - start
    }

    @Test("Redaction of any bytes ends, and has a length that grows with them")
    func anyBytes() {
        var state: UInt64 = 1
        let alphabet = Array("{}[]\":\\,=&?%@/;.'u0aé\n token<>-eyJ".utf8)
        for length in 0..<600 {
            let bytes = (0..<length).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return alphabet[Int(state >> 33) % alphabet.count]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            for type in ["application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/mixed"] {
                let redacted = Self.redactor.body(text, mediaType: type) ?? ""
                #expect(redacted.utf8.count <= (text.utf8.count + 1) * 20)
            }
            _ = Self.redactor.url(HopTarget(text, nil).url, text)
        }
    }
}
