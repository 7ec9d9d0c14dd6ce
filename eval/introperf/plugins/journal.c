/* A Lua module that appends records to a file. */
#include <lauxlib.h>
#include <lua.h>
#include <fcntl.h>
#include <unistd.h>

static int file = -1;

__attribute__((noinline)) void journal_commit(int number)
{
#ifdef DELAYED
    (void)number;
    fsync(file);
#else
    if (number % 100 == 0)
        fdatasync(file);
#endif
}

__attribute__((noinline)) int journal_append(const char *text, size_t length, int number)
{
    int wrote = (int)write(file, text, length);
    journal_commit(number);
    return wrote;
}

static int append(lua_State *state)
{
    size_t length;
    const char *text = luaL_checklstring(state, 1, &length);
    lua_pushinteger(state, journal_append(text, length, (int)luaL_checkinteger(state, 2)));
    return 1;
}

static int begin(lua_State *state)
{
    file = open(luaL_checkstring(state, 1), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    lua_pushinteger(state, file);
    return 1;
}

int luaopen_journal(lua_State *state)
{
    static const luaL_Reg functions[] = { { "append", append }, { "begin", begin }, { 0, 0 } };
    luaL_newlib(state, functions);
    return 1;
}
