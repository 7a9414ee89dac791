-- The answers of the test origin that need more than a line of configuration.
local origin = {}

local function quoted(text)
    return '"' .. text:gsub('[%c"\\\127-\255]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

-- Tables with a first element are arrays; keys are sorted, so that equal requests give equal bytes.
local function json(value)
    if value == nil then return "null" end
    if type(value) == "number" or type(value) == "boolean" then return tostring(value) end
    if type(value) ~= "table" then return quoted(tostring(value)) end
    local parts = {}
    if value[1] ~= nil then
        for index, element in ipairs(value) do parts[index] = json(element) end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    local keys = {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys)
    for index, key in ipairs(keys) do parts[index] = quoted(key) .. ":" .. json(value[key]) end
    return "{" .. table.concat(parts, ",") .. "}"
end

local function text(body)
    ngx.header["content-type"] = "text/plain"
    ngx.say(body)
end

-- Logs a handshake that no server block of its own was named for, and refuses it when it came with an unknown name.
function origin.handshake(refusesUnknown)
    local ssl = require("ngx.ssl")
    local name = ssl.server_name()
    local address = ssl.raw_server_addr()
    local bytes = address and { address:byte(1, -1) } or {}
    ngx.log(ngx.NOTICE, "handshake addr=", table.concat(bytes, #bytes == 4 and "." or " "), " sni=", name or "(none)")
    if refusesUnknown and name then return ngx.exit(ngx.ERROR) end
end

-- The request's body, unless nginx put it into a file, and its length.
local function read_body()
    ngx.req.read_body()
    local body, path = ngx.req.get_body_data(), ngx.req.get_body_file()
    if body or not path then return body, body and #body or 0 end
    local file = io.open(path, "rb")
    local length = file:seek("end")
    file:close()
    return nil, length
end

function origin.echo()
    local body, length = read_body()
    local v = ngx.var
    ngx.header["content-type"] = "application/json"
    ngx.say(json({
        address = v.server_addr, port = tonumber(v.server_port), host = v.http_host or v.host,
        sni = v.ssl_server_name, method = v.request_method, target = v.request_uri, protocol = v.server_protocol,
        tls = v.ssl_protocol, alpn = v.ssl_alpn_protocol, connection = tonumber(v.connection),
        request = tonumber(v.connection_requests), headers = ngx.req.get_headers(0, true),
        bodyBytes = length, bodyMD5 = body and ngx.md5(body) or nil,
    }))
end

-- JSON DNS as Google speaks it: /resolve?v4=127.0.0.3&v6=::1&ttl=60&name=one.test&type=1. What it answers stands in the
-- service's own URL: v4, v6, ttl, and alias for a CNAME in front. The first label of the name may want something else:
-- nowhere (NXDOMAIN), v4only (no AAAA), silent (no answer for a minute).
function origin.resolve()
    local args = ngx.req.get_uri_args()
    local name, type = (args.name or ""):gsub("%.$", "") .. ".", tonumber(args.type) or 1
    local label = name:match("^[^.]*")
    if label == "silent" then ngx.sleep(60) end
    local answer = {
        Status = label == "nowhere" and 3 or 0, TC = false, RD = true, RA = true, AD = false, CD = false,
        Question = { { name = name, type = type } },
    }
    local ttl = tonumber(args.ttl) or 60
    local records, owner = {}, name
    local function add(of, data) records[#records + 1] = { name = owner, type = of, TTL = ttl, data = data } end
    local address = type == 1 and args.v4 or type == 28 and label ~= "v4only" and args.v6
    if args.alias and label ~= "nowhere" then
        add(5, args.alias .. ".")
        owner = args.alias .. "."
    end
    if address and label ~= "nowhere" then add(type, address) end
    if records[1] then answer.Answer = records end
    if not address or label == "nowhere" then
        answer.Authority = { { name = "test.", type = 6, TTL = 900, data = "ns.test. admin.test. 1 7200 3600 1209600 5" } }
    end
    ngx.header["content-type"] = "application/json; charset=UTF-8"
    ngx.print(json(answer))
end

function origin.upload()
    local _, length = read_body()
    text(tostring(length))
end

function origin.stall()
    ngx.sleep(tonumber(ngx.var.seconds))
    text("slept " .. ngx.var.seconds)
end

function origin.stall_body()
    ngx.header["content-type"] = "text/plain"
    ngx.print("begin\n")
    ngx.flush(true)
    ngx.sleep(tonumber(ngx.var.seconds))
    ngx.print("end\n")
end

function origin.drip()
    ngx.header["content-type"] = "text/plain"
    for count = 1, tonumber(ngx.var.arg_count) or 3 do
        if count > 1 then ngx.sleep(tonumber(ngx.var.arg_every) or 0.2) end
        ngx.print(count, "\n")
        ngx.flush(true)
    end
end

function origin.status()
    ngx.status = tonumber(ngx.var.code)
    text("status " .. ngx.var.code)
end

function origin.redirect()
    return ngx.redirect(ngx.unescape_uri(ngx.var.arg_to), tonumber(ngx.var.code))
end

function origin.give_cookies()
    local args = ngx.req.get_uri_args()
    ngx.header["set-cookie"] = type(args.f) == "table" and args.f or { args.f }
    if not args.to then return text("given") end
    ngx.status = tonumber(args.code) or 302
    ngx.header["location"] = args.to
    text("elsewhere")
end

function origin.fields()
    local args = ngx.req.get_uri_args()
    for _, field in ipairs(type(args.f) == "table" and args.f or { args.f }) do
        local name, value = field:match("^([^:]+): *(.*)$")
        ngx.header[name] = value
    end
    ngx.status = tonumber(args.code) or 200
    text(ngx.var.request_id)
end

function origin.show_cookies()
    ngx.header["content-type"] = "text/plain"
    ngx.print(ngx.var.http_cookie or "")
end

function origin.hops()
    local count = tonumber(ngx.var.count)
    return ngx.redirect(count > 1 and "/hops/" .. (count - 1) or "/echo", 302)
end

-- /bytes?count=N: a body of unknown length, in pieces of 16 KiB.
function origin.bytes()
    ngx.header["content-type"] = "application/octet-stream"
    local left, piece = tonumber(ngx.var.arg_count) or 1024, ("x"):rep(16384)
    while left > 0 do
        ngx.print(left < #piece and piece:sub(1, left) or piece)
        ngx.flush(true)
        left = left - #piece
    end
end

function origin.big_header()
    ngx.header["x-big"] = ("a"):rep(tonumber(ngx.var.arg_bytes) or 30000)
    text("ok")
end

function origin.many_headers()
    for index = 1, tonumber(ngx.var.arg_count) or 500 do ngx.header["x-field-" .. index] = "value" end
    text("ok")
end

function origin.truncated()
    ngx.header["content-length"] = 1000
    ngx.print("short")
    ngx.flush(true)
    ngx.exit(444)
end

return origin
