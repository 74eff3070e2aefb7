-- SPDX-License-Identifier: Apache-2.0
-- The protocol of src/coherence/protocol.md: one block, its home (node 0) and two other ranks.
-- Checked by rumur. `seeded` puts one mistake in, which the check must find.

const
  nodes: 3;
  values: 2;
  room: 3;       -- messages under way from one rank to another; more is an error
  seeded: 0;     -- 1: a grant before all are invalid; 2: an upgrade without data after the copy
                 -- was lost; 3: a write-back is no answer to a flush

type
  node: 0 .. nodes - 1;
  value_type: 0 .. values - 1;
  copy_state: enum { invalid, shared, modified };
  wish_type: enum { nothing, to_read, to_write };
  request_type: enum { none, get_shared, get_modified, upgrade };
  kind_type: enum { request, write_back, flushed, acknowledged,               -- to the home
                    invalidate, flush_to_shared, flush_to_invalid, grant_shared, grant_modified };
  message: record
    kind: kind_type;
    what: request_type;
    value: value_type;
    has_data: boolean;
  end;
  channel: record
    count: 0 .. room;
    item: array [0 .. room - 1] of message;
  end;

var
  latest: value_type;                       -- what the last write has written, anywhere
  copy: array [node] of record
    state: copy_state;
    value: value_type;
    wish: wish_type;                        -- of an access that waits
  end;
  to_home: array [node] of channel;
  from_home: array [node] of channel;

  memory: value_type;                       -- of the home
  is_owned: boolean;
  owner: node;
  sharer: array [node] of boolean;
  waiting: array [node] of request_type;    -- requests that have come
  is_busy: boolean;                         -- with the request of `served`
  served: node;
  service: request_type;
  missing: 0 .. nodes;                      -- acknowledgements
  wants_data: boolean;                      -- from the owner

procedure send(var line: channel; kind: kind_type; what: request_type; value: value_type;
              has_data: boolean);
begin
  assert line.count < room "a channel is full";
  line.item[line.count].kind := kind;
  line.item[line.count].what := what;
  line.item[line.count].value := value;
  line.item[line.count].has_data := has_data;
  line.count := line.count + 1;
end;

procedure take(var line: channel);
begin
  for i: 0 .. room - 2 do
    line.item[i] := line.item[i + 1];
  end;
  undefine line.item[line.count - 1];
  line.count := line.count - 1;
end;

-- The owner has sent what it had.
procedure come_home(value: value_type);
begin
  memory := value;
  is_owned := false;
  undefine owner;
end;

-- The request is served: its rank gets the block.
procedure finish(written: value_type);
var has_copy: boolean;
begin
  is_busy := false;
  if service = get_shared then
    if served = 0 then
      assert memory = latest "the home reads what is old";
      copy[0].wish := nothing;
    else
      sharer[served] := true;
      send(from_home[served], grant_shared, none, memory, true);
    end;
  else
    has_copy := service = upgrade & sharer[served];
    if seeded = 2 then has_copy := service = upgrade; end;
    for n: node do sharer[n] := false; end;
    if served = 0 then
      memory := written;
      latest := written;
      copy[0].wish := nothing;
    else
      is_owned := true;
      owner := served;
      send(from_home[served], grant_modified, none, memory, !has_copy);
    end;
  end;
  undefine served;
  undefine service;
end;

startstate
begin
  undefine copy;
  undefine to_home;
  undefine from_home;
  latest := 0;
  memory := 0;
  is_owned := false;
  undefine owner;
  is_busy := false;
  undefine served;
  undefine service;
  missing := 0;
  wants_data := false;
  for n: node do
    copy[n].state := invalid;
    copy[n].value := 0;
    copy[n].wish := nothing;
    to_home[n].count := 0;
    from_home[n].count := 0;
    sharer[n] := false;
    waiting[n] := none;
  end;
end;

-- What the program of a rank does.

ruleset n: 1 .. nodes - 1 do
  rule "a read that misses"
    copy[n].wish = nothing & copy[n].state = invalid ==>
  begin
    copy[n].wish := to_read;
    send(to_home[n], request, get_shared, 0, false);
  end;

  rule "a write that misses"
    copy[n].wish = nothing & copy[n].state != modified ==>
  begin
    copy[n].wish := to_write;
    if copy[n].state = shared then
      send(to_home[n], request, upgrade, 0, false);
    else
      send(to_home[n], request, get_modified, 0, false);
    end;
  end;

  ruleset v: value_type do
    rule "a write that hits"
      copy[n].wish = nothing & copy[n].state = modified ==>
    begin
      copy[n].value := v;
      latest := v;
    end;
  end;

  rule "room is needed"
    copy[n].wish = nothing & copy[n].state != invalid ==>
  begin
    if copy[n].state = modified then
      send(to_home[n], write_back, none, copy[n].value, true);
    end;
    copy[n].state := invalid;
    copy[n].value := 0;
  end;
end;

rule "the home reads"
  copy[0].wish = nothing ==>
begin
  if is_owned | is_busy then
    copy[0].wish := to_read;
    waiting[0] := get_shared;
  else
    assert memory = latest "the home reads what is old";
  end;
end;

ruleset v: value_type do
  rule "the home writes"
    copy[0].wish = nothing ==>
  var alone: boolean;
  begin
    alone := !is_owned & !is_busy;
    for n: node do
      if sharer[n] then alone := false; end;
    end;
    if alone then
      memory := v;
      latest := v;
    else
      copy[0].wish := to_write;
      waiting[0] := get_modified;
    end;
  end;
end;

-- What the home does.

ruleset n: node; v: value_type do
  rule "a request is begun"
    !is_busy & waiting[n] != none ==>
  begin
    is_busy := true;
    served := n;
    service := waiting[n];
    waiting[n] := none;
    if is_owned then
      assert owner != n "an owner asks for what it has";
      wants_data := true;
      send(from_home[owner], (service = get_shared ? flush_to_shared : flush_to_invalid), none, 0,
          false);
    else
      if service != get_shared then
        for other: node do
          if sharer[other] & other != n then
            missing := missing + 1;
            send(from_home[other], invalidate, none, 0, false);
          end;
        end;
      end;
      if missing = 0 | seeded = 1 then
        finish(v);
      end;
    end;
  end;

  rule "the home takes a message"
    to_home[n].count != 0 ==>
  begin
    alias come: to_home[n].item[0] do
      switch come.kind
        case request:
          assert waiting[n] = none "two requests of one rank";
          waiting[n] := come.what;
        case write_back:
          assert is_owned & owner = n "a write-back of what is another's";
          come_home(come.value);
          if wants_data & seeded != 3 then
            wants_data := false;
            finish(v);
          end;
        case flushed:
          assert is_owned & owner = n & wants_data "data that nobody has asked for";
          come_home(come.value);
          wants_data := false;
          if service = get_shared then sharer[n] := true; end;
          finish(v);
        case acknowledged:
          if seeded != 1 then
            missing := missing - 1;
            sharer[n] := false;
            if missing = 0 then finish(v); end;
          end;
      end;
    end;
    take(to_home[n]);
  end;
end;

-- What a rank does when a message comes from the home.

ruleset n: 1 .. nodes - 1; v: value_type do
  rule "a rank takes a message"
    from_home[n].count != 0 ==>
  begin
    alias come: from_home[n].item[0] do
      switch come.kind
        case invalidate:
          assert copy[n].state != modified "an owner is told to forget";
          copy[n].state := invalid;
          copy[n].value := 0;
          send(to_home[n], acknowledged, none, 0, false);
        case flush_to_shared:
          if copy[n].state = modified then
            copy[n].state := shared;
            send(to_home[n], flushed, none, copy[n].value, true);
          end;
        case flush_to_invalid:
          if copy[n].state = modified then
            send(to_home[n], flushed, none, copy[n].value, true);
            copy[n].state := invalid;
            copy[n].value := 0;
          end;
        case grant_shared:
          assert copy[n].wish = to_read "a grant that nobody waits for";
          assert come.value = latest "a read of what is old";
          copy[n].state := shared;
          copy[n].value := come.value;
          copy[n].wish := nothing;
        case grant_modified:
          assert copy[n].wish = to_write "a grant that nobody waits for";
          assert come.has_data | copy[n].state = shared "an upgrade of what is not there";
          copy[n].state := modified;
          copy[n].value := v;
          latest := v;
          copy[n].wish := nothing;
      end;
    end;
    take(from_home[n]);
  end;
end;

ruleset n: 1 .. nodes - 1 do
  invariant "a copy is what was written last"
    copy[n].state = invalid | copy[n].value = latest;
  invariant "an owner is alone"
    copy[n].state = modified ->
      forall other: 1 .. nodes - 1 do other = n | copy[other].state = invalid endforall;
end;

invariant "memory that nobody owns is what was written last"
  is_owned | memory = latest;

ruleset n: node do
  liveness "every access comes to its end" copy[n].wish = nothing;
end;
